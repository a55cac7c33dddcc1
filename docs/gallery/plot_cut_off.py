"""
What a cut-off does
===================

One entry of the settings changed: the cut-off of the filter for markers and forces, in place of the default's estimate.
"""

from matplotlib.figure import Figure

import biodyn

figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
for cutoff_hz in (4.0, 6.0, 12.0):
    settings = {"signals": {"cutoff_hz": cutoff_hz}, "uncertainty": {"compute": False}}
    torques = biodyn.run_trial("../../sample_data/subject01/walk01.c3d", settings=settings).joint_torques
    ax.plot(torques["time_s"], torques["hip_flexion_r_Nm"], label=f"{cutoff_hz:g} Hz")
ax.set(xlabel="time, s", ylabel="torque, Nm", title="Right hip, flexion +")
ax.legend()
