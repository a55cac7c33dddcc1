"""OpenSim's own solver on random states of its own models; run by an interpreter that has `opensim`, never beside ezc3d.

    python opensim_solver.py OUT.npz STATES MODEL.osim ...

Writes per model: coordinate names, q, u, udot, tau (InverseDynamicsSolver), mass matrix, marker positions in ground.
"""

import sys

import numpy as np
import opensim as osim


def states_of(path, count):
    osim.Logger.setLevelString("Off")
    model = osim.Model(path)
    forces = model.updForceSet()  # coordinate forces act in the solver; only the mechanics are compared
    for k in range(forces.getSize()):
        forces.get(k).set_appliesForce(False)
    state = model.initSystem()
    coordinates = model.getCoordinateSet()
    listed = [coordinates.get(k) for k in range(coordinates.getSize())]
    rng = np.random.default_rng(len(listed))
    n = len(listed)
    out = {"names": np.array([one.getName() for one in listed])}
    kept = {key: [] for key in ("q", "u", "udot", "tau", "M", "markers")}
    solver = osim.InverseDynamicsSolver(model)
    markers = model.getMarkerSet()
    out["markers_named"] = np.array([markers.get(k).getName() for k in range(markers.getSize())])
    order = [mobility_of(model, state, one) for one in listed]
    for _ in range(count):
        low = np.array([max(one.getRangeMin(), -2.0) for one in listed])
        high = np.array([min(one.getRangeMax(), 2.0) for one in listed])
        q = rng.uniform(np.minimum(low, high), np.maximum(low, high))
        u, udot = rng.normal(size=n), 5.0 * rng.normal(size=n)
        for one, value, speed in zip(listed, q, u, strict=True):
            one.setLocked(state, False)
            one.setValue(state, value, False)
            one.setSpeedValue(state, speed)
        model.realizeVelocity(state)
        accelerations = osim.Vector(n, 0.0)
        for k, j in enumerate(order):
            accelerations[j] = udot[k]
        tau = solver.solve(state, accelerations).to_numpy()
        matrix = osim.Matrix()
        model.getMatterSubsystem().calcM(state, matrix)
        M = matrix.to_numpy()
        kept["q"].append(q)
        kept["u"].append(u)
        kept["udot"].append(udot)
        kept["tau"].append(tau[order])
        kept["M"].append(M[np.ix_(order, order)])
        kept["markers"].append([markers.get(k).getLocationInGround(state).to_numpy() for k in range(markers.getSize())])
    return {**out, **{key: np.array(values) for key, values in kept.items()}}


def mobility_of(model, state, coordinate):
    """Which entry of OpenSim's speeds is the coordinate's: found by changing it."""
    state = osim.State(state)
    state.setU(osim.Vector(state.getNU(), 0.0))
    coordinate.setLocked(state, False)
    coordinate.setSpeedValue(state, 1.0)
    return int(np.argmax(np.abs(state.getU().to_numpy())))


def main(out, count, *paths):
    everything = {}
    for k, path in enumerate(paths):
        try:
            for key, values in states_of(path, int(count)).items():
                everything[f"{k}/{key}"] = values
        except (RuntimeError, ValueError) as error:
            everything[f"{k}/error"] = np.array(str(error)[:200])
    np.savez(out, **everything)


main(*sys.argv[1:])
