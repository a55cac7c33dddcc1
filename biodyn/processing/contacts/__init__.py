"""Assignment of plate loads to feet, and the ground reaction of each foot.

Input: `TrialSignals`, the soles of the fitted skeleton and the section [contacts] (`settings`). Output: every contact with
decision, reason and evidence, and the `GroundReaction`: wrenches on the feet, NaN with a reason where unknown.

Entry point: `ground_reaction.find_contacts`. `feet` computes the motion of the soles, `loading` the loads of one plate,
`evidence` the measures of each foot against a load, `decide` the decision, `two_feet` the shares of two feet on one plate,
`balance` the force required by the motion of the body, and `stances_off_plates` the stances that no plate measured.
"""
