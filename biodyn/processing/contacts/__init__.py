"""Whose foot loads which plate, and the ground wrench on each foot.

Goes in: `TrialSignals`, the fitted skeleton with its soles and the section [contacts] (`parameters`). Comes out: every contact
with its decision, reason and evidence, and the `GroundReaction`: wrenches on the feet, NaN with a reason where unknown.

The call is `find.find_contacts`. Read `feet` and `foot_outline` (where the soles are, when a foot stands), `loading` (one
plate by itself), `presence` (when a foot can load it at all), `load` (what is decided about), then the decision:
`evidence` (what speaks for each foot), `decide` (the rule), `two_feet` over `double_support` (two feet on one plate),
`balance` and `by_balance` (what the motion of the whole body says to it), `short_loads` (clean-up), `overrides` (what the
user says); and `ground_reaction`, which gives the wrenches to the feet. `plate_levels` takes the plates' offsets anew once
the feet are known; `notes` says what was found.
"""
