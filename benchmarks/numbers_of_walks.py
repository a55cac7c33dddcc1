"""Results of many recordings with any version of biodyn: python numbers_of_walks.py CASES.json OUT ANSWER.json

`same_numbers.py` starts this script with a version on the path. The script uses public names of biodyn only. CASES.json holds a
list of cases: `name`, `path` and keyword arguments of `run_trial`. Writes OUT/NAME.pkl a case: tables by name, findings as
(code, severity, message), the verdict, and the refusal where the recording is not analysed.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import biodyn


def main() -> None:
    """Analyse every case and write its result."""
    cases, out, answer = (Path(argument) for argument in sys.argv[1:])
    for case in json.loads(cases.read_text(encoding="utf-8")):
        start = time.process_time()
        outcome = _outcome(case["path"], case["arguments"])
        outcome["seconds"] = time.process_time() - start
        (out / f"{case['name']}.pkl").write_bytes(pickle.dumps(outcome))
        print(f"{case['name']}: {outcome['verdict'] or outcome['refusal']}, {outcome['seconds']:.1f} s", flush=True)
    answer.write_text("{}", encoding="utf-8")


def _outcome(path: str, arguments: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"tables": {}, "findings": [], "verdict": "", "refusal": ""}
    try:
        result = biodyn.run_trial(path, **arguments)
        names = list(result.tables)
        # without a whole result there are only the tables of the torques, and their dictionary
        tables = {
            name: result.tables[name] if isinstance(result.tables, dict) else getattr(result, name) for name in names
        }
        record = result.record
        verdict = record.get("verdict") or {}
        findings = [(note["code"], note["severity"], note["message"]) for note in record["diagnostics"]]
        status = verdict.get("status", "") if isinstance(verdict, dict) else str(verdict)
        return {**empty, "tables": tables, "findings": findings, "verdict": status or "no verdict"}
    except biodyn.errors.BiodynError as error:
        return {**empty, "refusal": error.message}
    except Exception as error:  # a fault of the version is a result of the comparison
        return {**empty, "refusal": f"FAULT {type(error).__name__}: {error}\n{traceback.format_exc()[-600:]}"}


if __name__ == "__main__":
    main()
