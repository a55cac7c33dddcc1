"""A trial on its way through the steps: what was asked for, and what each step has found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from biodyn.analysis import SharedCycles, StaticFacts, SubjectFacts, TrialAnalysis
from biodyn.conventions import FloatArray
from biodyn.diagnostics import Check, Diagnostic
from biodyn.errors import SubjectError, printable
from biodyn.estimation.account import EstimateAccount
from biodyn.io.second_opinions import SecondOpinions
from biodyn.library.load import UserFile
from biodyn.model.body_model import SubjectModel
from biodyn.model.from_library.subject_scaling import SubjectScaling
from biodyn.model.marker_roles import MarkerMapping
from biodyn.processing.calibration.body_mass import MassEstimate
from biodyn.processing.calibration.standing import CalibrationSource, Standing
from biodyn.processing.calibration.stored_centres import StoredCentre
from biodyn.processing.calibration.subject import known_age, leg_length, stored_height
from biodyn.processing.calibration.subject_fit.result import SubjectFit
from biodyn.processing.contacts.feet import GaitPoints
from biodyn.processing.contacts.ground_reaction import Decided
from biodyn.processing.contacts.other_loads import OtherLoad
from biodyn.processing.dynamics.solve import Dynamics
from biodyn.processing.gait.activity import Activity
from biodyn.processing.kinematics.fit import Fit
from biodyn.processing.signals.orientation import WorldFrame
from biodyn.processing.signals.prepare import TrialSignals
from biodyn.recording import Contact, GaitEvent, GroundReaction, Recording
from biodyn.settings import Settings
from biodyn.trial.files import FrameRange, TrialFiles
from biodyn.trial.standing import Calibration
from biodyn.uncertainty.bands import TorqueUncertainty
from biodyn.uncertainty.inputs import TrialInputs
from biodyn.verification.consistency_check import Consistency


class TrialState:
    """What is known of a trial so far. It lives through one analysis; each step reads what it needs and writes what it finds.

    The attributes stand in the order in which the steps write them. One that no step has written yet is not there.
    """

    # reading, axes, marker set
    files: TrialFiles
    walk: Recording  # in World from the step "axes" on
    static: Recording  # in its own World
    world: WorldFrame
    centres: tuple[StoredCentre, ...]  # joint centres of the static trial's file, where they are to be used
    mapping: MarkerMapping
    # signals: written again by "inverse kinematics" (outliers left out) and "contacts" (offsets of the plates)
    signals: TrialSignals
    # scaling, calibration
    calibrated: Calibration  # what tells where joints and markers are; `calibration_source` names it
    standing: Standing
    plates_mass: MassEstimate | None  # what the plates carried in the static trial
    mass: MassEstimate | None  # None until "inverse dynamics" where only the strides tell it
    scaling: SubjectScaling
    model: SubjectModel
    model_notes: list[Diagnostic]  # on the model as it is now
    subject_fit: SubjectFit | None = None  # what the walk changed of the model
    # inverse kinematics
    fit: Fit
    base_angles: FloatArray
    # contacts, events
    points: GaitPoints
    decided: Decided
    other_loads: tuple[OtherLoad, ...]  # loads of the plates that no foot made
    contacts: tuple[Contact, ...]
    activity: Activity
    moved: list[GaitEvent]  # what the movement tells of strikes and offs, before the plates correct it
    reaction: GroundReaction
    events: tuple[GaitEvent, ...]
    event_notes: tuple[Diagnostic, ...] = ()  # those of the notes that are on these events
    # inverse dynamics, uncertainty
    dynamics: Dynamics
    propagation: TrialInputs
    estimate: EstimateAccount | None = (
        None  # where motion and forces became one estimate: fit, model, dynamics, reaction are its
    )
    uncertainty: TorqueUncertainty | None = None
    # checks
    data_checks: tuple[Check, ...] = ()
    consistency: Consistency | None = None

    def __init__(
        self,
        path: Path,
        static_path: str | Path | None,
        given_mass_kg: float | None,
        given_height_m: float | None,
        settings: Settings,
        user_files: tuple[UserFile, ...] = (),
        files: TrialFiles | None = None,
        static_frames: FrameRange | None = None,
        companions: Sequence[Path] | None = None,
        forces: str | Path | None = None,
    ) -> None:
        self.path, self.static_path, self.static_frames, self.forces = path, static_path, static_frames, forces
        self.given_mass_kg, self.given_height_m = given_mass_kg, given_height_m
        self.settings, self.user_files = settings, user_files
        self.companions = companions  # other recordings of the session; None: looked for beside the walk
        if files is not None:
            self.files = files
        self.opinions = SecondOpinions()  # of the files that are read here
        self.notes: list[Diagnostic] = []  # everything noticed on the way
        self.timings: Mapping[str, float] = {}
        self.shared_cycles = SharedCycles()

    @property
    def rate_hz(self) -> float:
        """Marker frames per second."""
        return self.walk.markers.rate_hz

    @property
    def is_on_poses(self) -> bool:
        """True where the walk is analysed on measured poses of its segments."""
        return self.files.source == "poses"

    @property
    def mass_kg(self) -> float | None:
        """Body mass where it is known by now."""
        return None if self.mass is None else self.mass.mass_kg

    @property
    def calibration_source(self) -> CalibrationSource:
        """What the model rests on: a static trial, a quiet part, stored offsets, or the walk itself."""
        return self.calibrated.source

    def analysis(self) -> TrialAnalysis:
        """Return what was found, as values that stay."""
        return TrialAnalysis(
            recording=self.walk,
            static=self._static_facts(),
            settings=self.settings,
            subject=self._subject_facts(),
            R_WL=self.world.R_WL,
            world_reason=self.world.reason,
            mapping=self.mapping,
            gaps=self.signals.gaps,
            model=self.model,
            fit=self.fit,
            base_angles=self.base_angles,
            plates=self.signals.plates,
            contacts=self.contacts,
            reaction=self.reaction,
            points=self.points,
            dynamics=self.dynamics,
            events=self.events,
            activity=self.activity,
            diagnostics=tuple(self.notes),
            timings=self.timings,
            subject_fit=self.subject_fit,
            propagation=self.propagation,
            uncertainty=self.uncertainty,
            estimate=self.estimate,
            user_files=self.user_files,
            data_checks=self.data_checks,
            consistency=self.consistency,
            shared_cycles=self.shared_cycles,
        )

    def _static_facts(self) -> StaticFacts:
        seen = self.static if self.calibrated.is_seen else self.walk
        return StaticFacts(
            path=seen.path,
            source=self.calibration_source,
            sha256=seen.sha256,
            reason=self.files.why,
            first=self.standing.first,
            last=self.standing.last,
            movement_m=self.standing.movement_m,
            points=self.standing.points,
            plates_mass_kg=None if self.plates_mass is None else self.plates_mass.mass_kg,
        )

    def _subject_facts(self) -> SubjectFacts:
        walk, static, mass = self.walk, self.static, self.mass
        if mass is None:
            raise SubjectError("Body mass is not known.", "Give it with --mass.")
        given = self.given_height_m is not None
        height_source = "given by the user" if given else stored_height((walk, static))[1]
        if self.settings.model.sex:
            sex_source = "settings"
        elif walk.subject.sex or static.subject.sex:
            sex_source = "stored in the file"
        else:
            sex_source = "not known: mean of both"
        name = walk.subject.name or static.subject.name or printable(walk.path.stem)
        model = self.model
        age = known_age(self.settings.report.age_years, (walk, static))
        leg = leg_length(self.settings.subject.measures, (walk, static), self._standing_landmarks())
        return SubjectFacts(
            name, mass.mass_kg, mass.source, model.height_m, height_source, model.sex, sex_source, *age, *leg
        )

    def _standing_landmarks(self) -> dict[str, FloatArray]:
        """Positions (3,) m of the landmarks that markers mark while the subject stands; none of measured poses."""
        if self.is_on_poses:
            return {}
        points = self.standing.points
        return {role.landmark: points[role.label] for role in self.mapping.roles if role.label in points}
