"""
What a torque is made of
========================

Gravity, inertia, velocity and ground reaction add up to the torque of the knee.
"""

from matplotlib.figure import Figure

import biodyn

result = biodyn.run_trial("../../sample_data/subject01/walk01.c3d")
knee = result.joint_torque_parts.query("coordinate == 'knee_angle_r'")
parts = knee.pivot(index="time_s", columns="part", values="value")
figure = Figure(figsize=(8, 4), layout="constrained")
ax = parts.plot(ax=figure.subplots(), ylabel="torque, Nm", xlabel="time, s", title="Right knee, flexion +")
ax.plot(parts.index, parts.sum(axis=1, skipna=False), color="black", label="sum: the torque")
ax.legend()
