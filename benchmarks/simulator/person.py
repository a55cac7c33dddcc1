"""A person who can be simulated: template markers scaled to body height, and the model that biodyn makes of them.

Other laboratories' markers (`outfits`) are put on the same body afterwards: bones, motion and torques stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from biodyn.conventions import FloatArray
from biodyn.library.tables import expand_sides
from biodyn.model.assembly import Coordinate
from biodyn.model.body_model import AttachedMarker, StaticFigure, SubjectModel
from biodyn.model.from_library.anthropometry import Sex
from biodyn.model.from_library.label_reading.spelling import normalise
from biodyn.model.from_library.marker_set_table import load_marker_set
from biodyn.model.from_library.markersets import recognise_marker_set
from biodyn.model.from_library.scaling import ScalingOptions, SubjectScaling
from biodyn.model.from_library.skeleton_recipes import load_skeleton
from simulator.curves import motion
from simulator.outfits import Outfit, Patch, load_outfit, outfit_names, patches, standing_places
from simulator.tables import load_data

_TEMPLATE_SET = "plug_in_gait_full"


@dataclass(frozen=True)
class Person:
    """Who is simulated.

    Attributes:
        name: as stored in the files.
        height_m, mass_kg, sex: of the body.
        marker_set: whose markers are worn: an outfit, or a set of the library that has them under the template's labels.
        skeleton: of the library; the true body.
        anthropometry, hip_centre: of the library, of the true body.
        marker_diameter_m: of the skin markers.
        leg_length, breadth: how much longer the legs (the trunk gives way) and wider everything is than the template's.
    """

    name: str
    height_m: float
    mass_kg: float
    sex: Sex
    marker_set: str = "plug_in_gait_full"
    skeleton: str = "full_body"
    anthropometry: str = "de_leva_dumas"
    hip_centre: str = "harrington_2007"
    marker_diameter_m: float = 0.014
    leg_length: float = 1.0
    breadth: float = 1.0


@dataclass(frozen=True)
class Coupled:
    """A coordinate that follows another one: rest + size sin(bend (driver - zero)).

    `column`, `driver`: their places among the model's coordinates. rest, zero: rad or m.
    """

    column: int
    driver: int
    zero: float
    rest: float
    size: float
    bend: float


@dataclass(frozen=True)
class Coupling:
    """Which of a model's `count` coordinates follow others."""

    coupled: tuple[Coupled, ...]
    count: int

    @property
    def free(self) -> list[int]:
        """Places of the coordinates that follow none."""
        follow = {one.column for one in self.coupled}
        return [column for column in range(self.count) if column not in follow]

    def expanded(self, y: FloatArray, yd: FloatArray, ydd: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the rows of all coordinates (T, 6 + count) of rows without those that follow, and of their time derivatives."""
        whole = tuple(np.zeros((len(y), 6 + self.count)) for _ in range(3))
        kept = [*range(6), *(6 + column for column in self.free)]
        for values, given in zip(whole, (y, yd, ydd), strict=True):
            values[:, kept] = given
        for one in self.coupled:
            at, by = 6 + one.column, 6 + one.driver
            angle, rate = one.bend * (whole[0][:, by] - one.zero), one.bend * whole[1][:, by]
            sine, cosine = one.size * np.sin(angle), one.size * np.cos(angle)
            whole[0][:, at] = one.rest + sine
            whole[1][:, at] = cosine * rate
            whole[2][:, at] = cosine * one.bend * whole[2][:, by] - sine * rate**2
        return whole[0], whole[1], whole[2]


@dataclass(frozen=True)
class Body:
    """The simulated body.

    Attributes:
        person: who it is.
        model: the true model: biodyn's own scaling of the template markers.
        static_points: (3,) m in World by label, the person standing with the feet on the floor Y = 0.
        measures: what a laboratory would have measured, in m.
        static_q: (nq,) the true configuration while standing.
        coupling: of coordinates that follow others; None: all are free.
        outfit: worn instead of the template's markers; None: those.
    """

    person: Person
    model: SubjectModel
    static_points: Mapping[str, FloatArray]
    measures: Mapping[str, float]
    static_q: FloatArray
    coupling: Coupling | None = None
    outfit: Outfit | None = None

    @property
    def patches(self) -> dict[str, Patch]:
        """Where each marker sits, by label."""
        if self.outfit is not None:
            return {label: patch for label, patch in patches(self.outfit).items() if label in self.static_points}
        roles = recognise_marker_set(tuple(self.static_points)).roles
        return {role.label: Patch(role.body, role.landmark, role.label) for role in roles}

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates that follow none: the columns of curve values behind the root's six."""
        whole = self.model.coordinates
        return whole if self.coupling is None else tuple(whole[column] for column in self.coupling.free)

    def motion(self, y: FloatArray, yd: FloatArray, ydd: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return q (T, nq), v, vdot (T, nv) of curve values and their time derivatives (T, ny); exact."""
        rows = (y, yd, ydd) if self.coupling is None else self.coupling.expanded(y, yd, ydd)
        return motion(self.model, *rows)


def template_points(
    height_m: float, marker_set: str, leg_length: float = 1.0, breadth: float = 1.0
) -> dict[str, FloatArray]:
    """Return (3,) m in World of every template marker of the set, scaled to body height and the person's proportions."""
    table = load_data("person")
    worn = load_marker_set(marker_set)
    points: dict[str, FloatArray] = {}
    for pattern, position in table["markers"].items():
        for side, label in expand_sides(pattern):
            if worn.find(normalise(label)) is not None:
                own = _scaled_place(position, height_m, leg_length, breadth)
                points[label] = own * (1.0, 1.0, -1.0 if side == "l" else 1.0)
    return points


def _scaled_place(
    position: Sequence[float] | FloatArray, height_m: float, leg_length: float, breadth: float
) -> FloatArray:
    """A place (3,) m on the template person, on a person of that height and those proportions."""
    table = load_data("person")
    reference, hips = table["reference_height_m"], table["hip_height_m"]
    heights = (0.0, hips, reference), (0.0, leg_length * hips, reference)
    x, y, z = position
    own = np.array([breadth * x, np.interp(y, *heights), breadth * z])
    return np.asarray(height_m / reference * own)


def measures(height_m: float, leg_length: float = 1.0, breadth: float = 1.0) -> dict[str, float]:
    """Return the caliper measures of a person of that height and those proportions, m."""
    table = load_data("person")
    size = height_m / table["reference_height_m"]
    return {
        name: size * value * (leg_length if pattern in table["along_the_leg"] else breadth)
        for pattern, value in table["measures"].items()
        for _, name in expand_sides(pattern)
    }


def embody(person: Person, joint_offsets_rad: Mapping[str, float] | None = None) -> Body:
    """Return the body that biodyn's scaling makes of the person's template markers.

    `joint_offsets_rad`: how far the wands sit off the true joints' planes, by the names that landmarks.toml asks for.
    Who wears an outfit has the body of the template's markers.
    """
    if person.marker_set in outfit_names():
        return dressed(embody(replace(person, marker_set=_TEMPLATE_SET), joint_offsets_rad), person.marker_set)
    points = template_points(person.height_m, person.marker_set, person.leg_length, person.breadth)
    sizes = measures(person.height_m, person.leg_length, person.breadth)
    options = ScalingOptions(
        mass_kg=person.mass_kg,
        height_m=person.height_m,
        sex=person.sex,
        measures=sizes,
        anthropometry=person.anthropometry,
        hip_centre=person.hip_centre,
        marker_radius_m=0.5 * person.marker_diameter_m,
        foot_flat=True,
        joint_offsets_rad=joint_offsets_rad or {},
    )
    model, _ = SubjectScaling(
        load_skeleton(person.skeleton), recognise_marker_set(tuple(points)), points, frozenset(points), options
    ).model()
    root = model.bodies[0]
    return Body(person, model, points, sizes, model.static_configuration(root.R_PB, root.p_PB))


def dressed(body: Body, outfit: str) -> Body:
    """Return the same body in an outfit, by its name; ModelError where there is none of that name.

    The markers sit where they do on the person that the template describes, and ride on this body's segments: a body whose
    joints are not where its markers say has them there in every outfit.
    """
    person, worn = replace(body.person, marker_set=outfit), load_outfit(outfit)
    proportions = person.height_m, person.leg_length, person.breadth
    usual = embody(replace(person, marker_set=_TEMPLATE_SET))
    points = standing_places(
        worn,
        usual.static_points,
        StaticFigure.from_model(usual.model).p_WB,
        lambda position: _scaled_place(position, *proportions),
    )
    figure, sits = StaticFigure.from_model(body.model), patches(worn)
    markers = tuple(
        AttachedMarker(
            label, sits[label].body, figure.R_WB[sits[label].body].T @ (p_WM - figure.p_WB[sits[label].body]), 1.0
        )
        for label, p_WM in points.items()
    )
    return replace(body, person=person, model=replace(body.model, markers=markers), static_points=points, outfit=worn)
