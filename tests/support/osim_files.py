"""Small OpenSim models of every kind of joint, as text."""

from __future__ import annotations

#: Kind of joint -> how many coordinates it has.
KINDS = {
    "WeldJoint": 0,
    "PinJoint": 1,
    "SliderJoint": 1,
    "UniversalJoint": 2,
    "GimbalJoint": 3,
    "BallJoint": 3,
    "PlanarJoint": 3,
    "FreeJoint": 6,
    "CustomJoint": 2,
}

_POINTS = "<x>-1 -0.6 -0.3 0 0.3 0.6 1</x><y>0 0.02 0.01 0.03 0.04 0.02 0.05</y>"
_AXES = (
    ("rotation1", "c0", "1 0.2 0.1", "<LinearFunction><coefficients>1 0.1</coefficients></LinearFunction>"),
    (
        "rotation2",
        "c1",
        "0.1 1 0",
        "<PolynomialFunction><coefficients>0.3 -0.2 1 0.1</coefficients></PolynomialFunction>",
    ),
    ("rotation3", "c0", "0 0.3 1", "<SimmSpline><x>-1 -0.5 0 0.4 1</x><y>0 0.2 0.1 0.3 0.2</y></SimmSpline>"),
    ("translation1", "c0", "1 0 0", f"<SimmSpline>{_POINTS}</SimmSpline>"),
    ("translation2", "c0 c1", "0 1 0", "<LinearFunction><coefficients>0.1 0.2 0.05</coefficients></LinearFunction>"),
    ("translation3", "", "0 0 1", "<Constant><value>0.07</value></Constant>"),
)
TRANSFORM = (
    "<SpatialTransform>"
    + "".join(
        f'<TransformAxis name="{name}"><coordinates>{moved}</coordinates><axis>{axis}</axis>{function}</TransformAxis>'
        for name, moved, axis, function in _AXES
    )
    + "</SpatialTransform>"
)
_INSIDE = {"CustomJoint": TRANSFORM}


def _coordinate(name: str) -> str:
    return f'<Coordinate name="{name}"><range>-1 1</range></Coordinate>'


def _frame(name: str, body: str, place: str, turn: str) -> str:
    return (
        f'<PhysicalOffsetFrame name="{name}"><socket_parent>{body}</socket_parent>'
        f"<translation>{place}</translation><orientation>{turn}</orientation></PhysicalOffsetFrame>"
    )


def _joint(kind: str, name: str, parent: str, child: str, coordinates: list[str], frames: str, inside: str = "") -> str:
    return (
        f'<{kind} name="{name}"><socket_parent_frame>{parent}</socket_parent_frame>'
        f"<socket_child_frame>{child}</socket_child_frame>"
        f"<coordinates>{''.join(map(_coordinate, coordinates))}</coordinates>"
        f"<frames>{frames}</frames>{inside}</{kind}>"
    )


def _body(name: str, mass: str, centre: str, inertia: str) -> str:
    return (
        f'<Body name="{name}"><mass>{mass}</mass><mass_center>{centre}</mass_center><inertia>{inertia}</inertia></Body>'
    )


def two_bodies(kind: str, inside: str | None = None, mass: str = "3", parent: str = "/bodyset/a") -> str:
    """A body on a hinge, and a second one on a joint of the kind, every frame turned and moved away; version 4.0."""
    hinge = _joint(
        "PinJoint",
        "hinge",
        "ground_offset",
        "a_offset",
        ["hinge"],
        _frame("ground_offset", "/ground", "0.1 0.2 0.3", "0.3 -0.2 0.5")
        + _frame("a_offset", "/bodyset/a", "0.05 0.1 -0.1", "0.2 0.6 -0.4"),
    )
    second = _joint(
        kind,
        "second",
        "a_out",
        "b_offset",
        [f"c{k}" for k in range(KINDS[kind])],
        _frame("a_out", parent, "0.01 -0.4 0.02", "0.1 -0.3 0.2")
        + _frame("b_offset", "/bodyset/b", "-0.02 0.15 0.03", "-0.5 0.1 0.2"),
        _INSIDE.get(kind, "") if inside is None else inside,
    )
    bodies = _body("a", mass, "0.1 -0.2 0.05", "0.05 0.04 0.06 0.004 -0.003 0.002")
    bodies += _body("b", "2", "-0.1 -0.1 0.02", "0.03 0.04 0.05 0.001 0.002 -0.004")
    marker = '<Marker name="m"><socket_parent_frame>/bodyset/b</socket_parent_frame><location>0.1 0.2 0.3</location></Marker>'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<OpenSimDocument Version="40000"><Model name="{kind}">'
        f"<gravity>0.5 -9.5 1</gravity><BodySet><objects>{bodies}</objects></BodySet>"
        f"<JointSet><objects>{hinge}{second}</objects></JointSet>"
        f"<MarkerSet><objects>{marker}</objects></MarkerSet></Model></OpenSimDocument>"
    )
