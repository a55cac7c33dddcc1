"""
Against the truth
=================

The sample data are simulated, so that the torques are known: the knee torque as computed from markers and plates, and as it was.
"""

import pandas as pd
from matplotlib.figure import Figure

import biodyn

computed = biodyn.run_trial("../../sample_data/subject01/walk01.c3d").joint_torques
truth = pd.read_csv("../../sample_data/subject01/truth/walk01.csv")
figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
ax.plot(truth["time_s"], truth["knee_angle_r_Nm"], color="black", label="truth")
ax.plot(computed["time_s"], computed["knee_angle_r_Nm"], label="computed")
ax.set(xlabel="time, s", ylabel="torque, Nm", title="Right knee, flexion +")
ax.legend()
