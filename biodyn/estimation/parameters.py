"""Parameters of the estimate: the section [estimation] of the settings."""

from __future__ import annotations

from biodyn.library.section import Field, Section


class EstimationSettings(Section):
    """One estimate of motion and forces; used where `signals.method` is "estimate", or "auto" and comes to it."""

    force_sd_n: float = Field(
        3.0,
        gt=0,
        le=1000,
        description="expected error of the balance of forces on the whole body in a hundredth of a second, N",
    )
    moment_sd_nm: float = Field(
        1.5, gt=0, le=1000, description="expected error of the balance of moments in a hundredth of a second, Nm"
    )
    balance_samples: float = Field(
        4.0,
        ge=0,
        le=1e6,
        description="for how many independent samples force_sd_n counts beside what the trial itself shows; 1e6: it holds",
    )
    closed_share: float = Field(
        0.075,
        gt=0,
        le=1,
        description="how far out of balance the motion may stay in the end, times the error of the balance that was found "
        "(torques stay); 1 = as far as that error",
    )
    marker_sd_m: float = Field(
        0.001, gt=0, le=0.1, description="error of a marker of weight 1 in a frame beside its noise (skin), m"
    )
    torque_roughness: float = Field(
        2.0,
        ge=0,
        le=1e4,
        description="how fast the slope of a joint torque may change (a random walk), times the usual of the filtered motion; "
        "0 = no limit",
    )
    smoothness: float = Field(
        5.0, gt=0, le=1e4, description="factor on the smoothness of the motion that the markers ask for"
    )
    correlation_s: float = Field(
        0.07,
        ge=0,
        le=10,
        description="time over which errors of the body model stay alike, s: how little a trial tells",
    )
    centre_sd_m: float = Field(
        0.01, ge=0, le=0.1, description="how far a segment's mass centre may lie off its place, 1 SD, m; 0 = it stays"
    )
    heaviest_centre_sd_m: float = Field(0.013, ge=0, le=0.1, description="the same of the heaviest segment (trunk), m")
    mass_sd_share: float = Field(0.01, ge=0, le=0.1, description="the same of the body mass, share")
    segment_mass_sd_share: float = Field(
        0.08,
        ge=0,
        le=0.3,
        description="the same of the mass of each kind of segment (both sides alike), share of itself; the others lose what one "
        "gains; 0 = as the table divides it",
    )
    foot_mass_sd_share: float = Field(
        0.16,
        ge=0,
        le=0.5,
        description="the same of the feet, which shoes make heavier by a third; 0 = as the table has them",
    )
    sides_alike_share: float = Field(
        0.8,
        ge=0,
        le=1,
        description="share of the variance of mass centres that both sides of a person have in common, as mirror images",
    )
    plate_place_sd_m: float = Field(
        0.005,
        ge=0,
        le=0.05,
        description="how far a force plate may stand beside its place in the file, 1 SD along each axis of the floor, m; "
        "0 = it stands there",
    )
    plate_gain_sd_share: float = Field(
        0.01,
        ge=0,
        le=0.1,
        description="how much too much or too little a plate may read, 1 SD, share; 0 = it reads right",
    )
    plate_gross_share: float = Field(
        0.01,
        ge=0,
        le=0.5,
        description="share of plates that stand far beside their place or read far off, and of body masses that are far off, "
        "eight times the deviations above: such a fault is found whole; 0 = none",
    )
    force_delay_sd_s: float = Field(
        0.001, ge=0, le=0.02, description="how late or early all forces may be, 1 SD, s; 0 = they are in time"
    )
    session: bool = Field(
        True,
        description="mass centres, mass and plates are found from all walks of the session together, where model.fit is "
        '"session"; each walk is analysed once more for the others',
    )
    force_cutoff_hz: float = Field(
        50.0, ge=10, le=1000, description="cut-off of the plate forces, Hz, at most 0.4 of the marker rate"
    )
    strike_torque_nm_kg: float = Field(
        1.0,
        ge=0,
        le=100,
        description="how much the slope of a joint torque may change in a hundredth of a second at a foot strike in the first "
        "step, which shows how much it does, Nm/kg; 0 = as in the rest of the stride",
    )
    strike_motion: float = Field(
        16.0,
        ge=1,
        le=1e4,
        description="times faster that accelerations may change at a foot strike in the first step, than elsewhere",
    )
    torque_shown: float = Field(
        2.0,
        ge=0,
        le=100,
        description="times the changes of a torque that the first step shows as long after a foot strike, which it may have in "
        "the next ones",
    )
    strikes_alike_share: float = Field(
        0.9,
        ge=0,
        lt=1,
        description="share of the variance of these changes that all foot strikes of a person have in common",
    )
    motion_shown: float = Field(
        1.5,
        ge=0,
        le=100,
        description="times the changes of an acceleration that the first step shows as long after a foot strike, which it may "
        "have in the next ones beside what `smoothness` allows",
    )
    knots_hz: float = Field(100.0, ge=10, le=1000, description="knots of the estimated motion in a second")
    iterations: int = Field(2, ge=1, le=20, description="Gauss-Newton steps")
    coordinate_sd_rad: float = Field(
        0.02,
        gt=0,
        le=1,
        description="of a model that moves by given coordinates: their error in a hundredth of a second, rad",
    )
    coordinate_sd_m: float = Field(0.01, gt=0, le=1, description="the same of coordinates that slide, m")
    coordinate_marker_sd_m: float = Field(
        0.005,
        gt=0,
        le=1,
        description="of a model that follows markers: the error of a marker of weight 1 in a hundredth of a second, m",
    )
    coordinate_marker_deviation_hz: float = Field(
        8.0,
        gt=0,
        le=1000,
        description="deviations from coordinates fitted to markers that swing faster count as unlikely, Hz",
    )
    coordinate_deviation_hz: float = Field(
        3.0, gt=0, le=1000, description="deviations from given coordinates that swing faster count as unlikely, Hz"
    )
    coordinate_centre_sd_m: float = Field(
        0.015,
        gt=0,
        le=0.1,
        description="how far the trunk's mass centre of such a model may lie off its place, 1 SD, m",
    )
    coordinate_mass_sd_share: float = Field(0.02, gt=0, le=0.1, description="the same of each body's mass, share")
    coordinate_iterations: int = Field(
        20, ge=1, le=100, description="Gauss-Newton steps for given coordinates, at most"
    )
