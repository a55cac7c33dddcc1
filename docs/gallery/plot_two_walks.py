"""
Two walks in one picture
========================

The mean cycle of the right knee at two speeds, from the tidy table of gait cycles.
"""

from matplotlib.figure import Figure

import biodyn

figure = Figure(figsize=(8, 4), layout="constrained")
ax = figure.subplots()
for name in ("walk01", "walk02"):
    result = biodyn.run_trial(f"../../sample_data/subject01/{name}.c3d", settings={"uncertainty": {"compute": False}})
    knee = result.gait_cycles.query("variable == 'knee_angle' and side == 'r'").groupby("percent")["value"].mean()
    ax.plot(knee.index, knee, label=f"{name}, {result.spatiotemporal['speed_m_s'].mean():.2f} m/s")
ax.set(xlabel="gait cycle, %", ylabel="knee flexion, deg")
ax.legend()
