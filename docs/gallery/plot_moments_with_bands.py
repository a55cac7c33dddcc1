"""
Moments with their bands
========================

The band is one standard deviation of what errors of markers, skin, joint centres, inertias, plates and cut-off do to the curve.
"""

import biodyn

result = biodyn.run_trial("../../sample_data/subject02/walk01.c3d")
figure = result.plot("hip_flexion_moment", "knee_angle_moment", "ankle_angle_moment", norms=None)
