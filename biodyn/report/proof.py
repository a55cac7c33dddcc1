"""The proof of a trial as the record keeps it and as a check among the others."""

from __future__ import annotations

import time
from typing import Any

from biodyn.analysis import TrialAnalysis
from biodyn.processing.driven import driven_by
from biodyn.processing.identity import Proof
from biodyn.processing.proof import prove
from biodyn.report.quality import Check, Status


def trial_proof(analysis: TrialAnalysis) -> tuple[Proof, dict[str, Any]]:
    """Check the identities of mechanics in every frame; returns them and what `run.json` keeps under "proof"."""
    start = time.perf_counter()
    proof = prove(driven_by(analysis.fit, analysis.dynamics))
    spent = time.perf_counter() - start
    own = sum(analysis.timings.values())
    return proof, proof.as_dict() | {"seconds": spent, "share_of_trial": spent / own if own else None}


def proof_check(proof: Proof) -> Check:
    """Return the proof as one check: good, bad, or unknown where no frame has torques."""
    tested = [identity for identity in proof.identities if identity.frames]
    worst = max(tested, key=lambda identity: identity.worst / identity.limit, default=None)
    if worst is None:
        return Check("proof", "Laws of mechanics", "unknown", "No frame has torques to be proved.")
    failed = [identity.title for identity in tested if not identity.holds]
    status: Status = "bad" if failed else "good"
    text = (
        f"These do not hold: {'; '.join(failed)}."
        if failed
        else f"All {len(tested)} identities hold in each of {max(i.frames for i in tested)} frames: forward dynamics, mass "
        "matrix, momentum, free bodies and power, each by another algorithm, give the same torques."
    )
    return Check(
        "proof",
        "Laws of mechanics",
        status,
        f"{text} Largest error {worst.worst:.0e} of a limit of {worst.limit:.0e} ({worst.title.lower()}).",
        value=worst.worst,
        limit=worst.limit,
        source="round-off of double precision; see the section Proof",
        hint="The equations of motion were not solved: report this trial as a fault of the program.",
    )
