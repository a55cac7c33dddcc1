"""
Where the doubt of a torque comes from
======================================

One standard deviation of the knee torque, source by source, and the torque itself.
"""

from matplotlib.figure import Figure

import biodyn

result = biodyn.run_trial("../../sample_data/subject01/walk01.c3d")
sd = result.joint_torques_sd.set_index("time_s").filter(like="knee_angle_r_")
sources = [name for name in sd if name != "knee_angle_r_Nm_sd"]
figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
for name in sources:
    ax.plot(sd.index, sd[name], label=name.removeprefix("knee_angle_r_").removesuffix("_Nm_sd").replace("_", " "))
ax.set(xlabel="time, s", ylabel="standard deviation, Nm", title="Right knee, flexion torque")
ax.legend()
