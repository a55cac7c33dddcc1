"""Stream the results of all trials, in the order of the plan, into one tidy data set."""
