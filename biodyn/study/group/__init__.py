"""From the data set to group results: parameters, mean curves, scores, repeatability, statistics."""
