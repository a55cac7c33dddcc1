"""
Ground reaction of both feet
============================

A figure of the report, by its name: "joint_angles", "joint_powers", "residual" and "whole_trial" are others.
"""

import biodyn

result = biodyn.run_trial("../../sample_data/subject02/walk02.c3d", settings={"uncertainty": {"compute": False}})
figure = result.plot("ground_reaction")
