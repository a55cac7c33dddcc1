"""
Why two analyses differ
=======================

The same walk with other inertias and another filter: how much of the difference does each of them make?
"""

import biodyn

walk = "../../sample_data/subject01/walk01.c3d"
ours = biodyn.run_trial(walk, settings={"signals": {"cutoff_hz": 6.0}, "uncertainty": {"compute": False}})
other = {"signals": {"cutoff_hz": 10.0}, "model": {"anthropometry": "dumas_2007"}, "uncertainty": {"compute": False}}
figure = biodyn.compare(ours, biodyn.run_trial(walk, settings=other)).plot()
