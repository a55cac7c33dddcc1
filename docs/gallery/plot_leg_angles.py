"""
Angles of the leg over the gait cycle
=====================================

Every cycle of both sides, with published normal curves behind them.
"""

import biodyn

result = biodyn.run_trial("../../sample_data/subject01/walk01.c3d")
figure = result.plot("hip_flexion", "knee_angle", "ankle_angle")
