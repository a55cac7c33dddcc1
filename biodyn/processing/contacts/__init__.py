"""Assignment of plate loads to feet, and the ground reaction of each foot.

Input: `TrialSignals`, the soles of the fitted skeleton and the section [contacts] (`settings`). Output: every contact with its
decision, reason and evidence, and the `GroundReaction` with the wrenches on the feet (NaN and a reason where unknown).

Entry point: `ground_reaction.find_contacts`. `feet` computes the motion of the soles, `loading` detects the loads of one plate,
`evidence` compares each foot with a load, `decide` assigns the loads, `two_feet` separates the shares of two feet on one plate,
`balance` computes the force required by the motion of the body, and `stances_off_plates` finds the stances that no plate
measured.
"""
