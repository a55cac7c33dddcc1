"""Assignment of plate loads to feet, and the ground reaction of each foot.

Input: `TrialSignals`, the soles of the fitted skeleton and the section [contacts] (`settings`). Output: every contact with its
decision, reason and evidence, and the `GroundReaction` with the wrenches on the feet (NaN and a reason where unknown).

Entry point: `ground_reaction.contact_decisions`. `foot_motion` computes the motion of the soles, `plate_loads` detects the
loads of one plate, `contact_evidence` compares each foot with a load, `contact_decision` assigns the loads,
`shared_plate_loads` separates the shares of two feet on one plate, `force_balance` computes the force required by the
motion of the body, and `stances_off_plates` finds the stances that no plate measured.
"""
