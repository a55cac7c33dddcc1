"""Whose foot loads which plate, and the ground wrench on each foot.

Goes in: `TrialSignals`, the fitted skeleton with its soles and the section [contacts] (`parameters`). Comes out: every contact
with its decision, reason and evidence, and the `GroundReaction`: wrenches on the feet, NaN with a reason where unknown.

The call is `ground_reaction.find_contacts`. Read `feet` (the soles, when a foot is at rest), `loading` (one plate alone),
`evidence` (when a foot can load a plate, and what supports each foot), `decide` (the rule, and contacts set by the user),
`two_feet` (two feet on one plate), `balance` (forces that the motion of the whole body requires), `stances_off_plates`
(stances that no plate measured), and `ground_reaction` (wrenches on the feet, and what is reported about them).
"""
