"""The server of the local page: addresses, access control of requests, and detection of new files."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from biodyn.app.analysis_job import Job
from biodyn.app.opened_folder import OpenedFolder, State
from biodyn.errors import BiodynError, SettingsError
from biodyn.output.report.page import page_environment
from biodyn.output.report.pdf_report import requested_letterhead
from biodyn.output.store.result_reader import read_view
from biodyn.output.store.result_writer import write_pdf_report
from biodyn.study.discovery.definition import path_text
from biodyn.trial.export import FORMATS, export
from biodyn.version import VERSION

LOOPBACK: Final = "127.0.0.1"
MAX_BODY_BYTES: Final = 65_536  # a correction has some hundred
_WATCH_S: Final = 2.0  # from one look at the folder to the next
_COMPLETE_S: Final = 5.0  # a copy over a network may pause for some seconds
_OWN_PAGE: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
# Reports contain scripts and names from recordings; they are displayed without access to the page or to any address.
_REPORT: Final = (
    "sandbox allow-scripts allow-popups; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


class RequestGuard:
    """Middleware that refuses requests of other hosts and origins, large bodies, and addresses without the token.

    It also adds headers that isolate the page from other pages.
    """

    def __init__(self, app: ASGIApp, hosts: frozenset[str], token: str) -> None:
        self._app, self._hosts, self._token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve an ASGI request, or answer with a refusal."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = self._refusal_response(scope["method"], headers, scope["path"].split("/")[1])
        if refusal is not None:
            await refusal(scope, receive, send)
            return

        async def send_closed(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cross-origin-resource-policy", b"same-origin"),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        await self._app(scope, receive, send_closed)

    def _refusal_response(self, method: str, headers: Mapping[str, str], token: str) -> Response | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if host not in self._hosts:
            return PlainTextResponse("This page answers on the loopback address only.", 403)
        if (origin is None and method != "GET") or origin not in (None, f"http://{host}"):
            return PlainTextResponse("Requests of other pages are refused.", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            return PlainTextResponse("The request is too large.", 413)
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return PlainTextResponse("This address needs the token that was given at the start.", 403)
        return None


class App:
    """Handlers of the requests that the local page sends about one folder."""

    def __init__(self, folder: OpenedFolder) -> None:
        self.folder, self.job = folder, Job(folder.root)
        self.watching = False
        self._end = threading.Event()

    # -- pages ------------------------------------------------------------------------------------------------------

    def overview(self, request: Request) -> Response:
        """Return the page with the recordings of the folder."""
        try:
            rows, study = self.folder.recording_rows(), self.folder.study
        except BiodynError as error:
            return _page_response(
                "problem.html.j2", base=_base_path(request), error=str(error), undo=self.folder.last_change
            )
        report = (self.folder.results_folder / "report.html").is_file()
        roles = ("walk", "unreadable", "static", "functional", "other", "excluded")
        rows.sort(key=lambda row: roles.index(row["role"]))
        return _page_response(
            "overview.html.j2", base=_base_path(request), rows=rows, study=study, report=report, watching=self.watching,
            undo=self.folder.last_change,
        )  # fmt: skip

    def recording(self, request: Request) -> Response:
        """Return the page of one recording: curves, corrections and review."""
        details = self.folder.recording_details(request.query_params.get("path", ""))
        return _page_response(
            "recording.html.j2",
            base=_base_path(request),
            undo=self.folder.last_change,
            formats=tuple(FORMATS),
            **details,
        )

    def recording_scene(self, request: Request) -> Response:
        """Return the page with one recording in 3-D."""
        return _report_response(self.folder.check_page(request.query_params.get("path", "")))

    def trial_report(self, request: Request) -> Response:
        """Return the report of a trial."""
        return _report_response(self.folder.trial_page(request.query_params.get("path", "")))

    def result_file(self, request: Request) -> Response:
        """Return the requested file from the folder of the results."""
        place = (self.folder.results_folder / request.path_params["file"]).resolve()
        if not place.is_relative_to(self.folder.results_folder.resolve()) or not place.is_file():
            return PlainTextResponse("There is no such file.", 404)
        response = FileResponse(place)
        response.headers["content-security-policy"] = _REPORT
        return response

    def signals(self, request: Request) -> Response:
        """Return the curves, contacts, events and cycles of a recording as JSON."""
        return JSONResponse(self.folder.recording_signals(request.query_params.get("path", "")))

    def analysis_progress(self, _: Request) -> Response:
        """Return the progress of the analysis as JSON."""
        return JSONResponse({**self.job.as_dict(), "watching": self.watching, "undo": self.folder.last_change})

    # -- actions ----------------------------------------------------------------------------------------------------

    def apply_correction(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Write a correction to study.toml or subject.toml of the folder."""
        self.folder.apply_correction(body)
        return {"saved": True}

    def undo(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """Revert the last correction."""
        self.folder.undo()
        return {"saved": True}

    def start_analysis(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Start the analysis of one trial (`path`), of a session (`subject`, `session`), or of all trials."""
        trials = self.folder.study.plan.trials
        if "path" in body:
            trials = tuple(trial for trial in trials if path_text(trial.path) == body["path"])
        elif "subject" in body:
            trials = tuple(t for t in trials if (t.subject, t.session) == (body["subject"], body.get("session", "")))
        if not trials:
            raise SettingsError("There is no walk to analyse.", "See the role of each recording in the table.")
        is_all = "path" not in body and "subject" not in body
        if not self.job.start(None if is_all else [path_text(trial.path) for trial in trials]):
            raise SettingsError("An analysis is already running.", "Wait for its end, or stop it.")
        return {"started": len(trials)}

    def cancel(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """Stop the running analysis; results of finished trials are kept."""
        self.job.cancel()
        return {"stopped": True}

    def switch_watching(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Switch the automatic analysis of new files on or off."""
        self.watching = bool(body.get("on"))
        return {"watching": self.watching}

    def export_result(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Export the result of a trial for another program to exports/ in the folder of the results."""
        trial = self.folder.find_trial(str(body.get("path", "")))
        if trial is None:
            raise SettingsError("This recording is not a trial.")
        to = str(body.get("to", ""))
        target = self.folder.root / "reports" / "exports" / f"{trial.subject}_{trial.trial}_{to}"
        folder = path_text(target.relative_to(self.folder.root))
        if to == "pdf":
            paper = requested_letterhead(True, None)
            assert paper is not None
            target.mkdir(parents=True, exist_ok=True)
            write_pdf_report(read_view(self.folder.results_folder / trial.folder), target, paper)
            return {"folder": folder, "files": ["report.pdf"]}
        recording = self.folder.root / trial.path if to == "c3d" else None
        done = export(self.folder.results_folder / trial.folder, to, target, recording=recording, force=True)
        return {"folder": folder, "files": list(done.files), "notes": done.notes}

    # -- watch --------------------------------------------------------------------------------------------------------

    def start_watch(self) -> None:
        """Start the detection of new files; while `watching` is on, complete new files are analysed."""
        threading.Thread(target=self._watch_folder, daemon=True).start()

    def _watch_folder(self) -> None:
        known: State | None = None
        last: State = ()
        changed_s = 0.0
        while not self._end.wait(_WATCH_S):
            if not self.watching:
                known = None
                continue
            state = self.folder.file_states()
            known = state if known is None else known
            if state != last:
                last, changed_s = state, time.monotonic()
            elif state != known and time.monotonic() - changed_s >= _COMPLETE_S and not self.job.is_running:
                try:
                    paths = self.folder.recordings_using(set(state) - set(known))
                except BiodynError:  # the table shows it
                    continue
                known = state if not paths or self.job.start(paths) else known

    def stop(self) -> None:
        """Stop the analysis and the detection of new files."""
        self._end.set()
        self.job.cancel()


def _base_path(request: Request) -> str:
    return f"/{request.path_params['token']}"


def _page_response(name: str, **values: Any) -> Response:
    text = page_environment("biodyn.app").get_template(name).render(version=VERSION, **values)
    return HTMLResponse(text, headers={"content-security-policy": _OWN_PAGE})


def _report_response(text: str) -> Response:
    return HTMLResponse(text, headers={"content-security-policy": _REPORT})


def _static_file_response(_: Request, name: str, kind: str) -> Response:
    return Response(files("biodyn.app").joinpath("templates", name).read_text(encoding="utf-8"), media_type=kind)


def _make_get_endpoint(handler: Callable[[Request], Response]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        try:
            return await run_in_threadpool(handler, request)
        except BiodynError as error:
            return _page_response("problem.html.j2", base=_base_path(request), error=str(error), undo="")

    return endpoint


def _make_post_endpoint(handler: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[[Request], Any]:
    async def endpoint(request: Request) -> Response:
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY_BYTES:
                return PlainTextResponse("The request is too large.", 413)
        try:
            values = json.loads(body or b"{}")
        except (ValueError, RecursionError):
            values = None
        if not isinstance(values, dict):
            return JSONResponse({"error": "The request is not a JSON object."}, 400)
        try:
            return JSONResponse(await run_in_threadpool(handler, values))
        except BiodynError as error:
            return JSONResponse({"error": str(error)}, 400)
        except OSError as error:
            return JSONResponse({"error": f"The file cannot be written: {error.strerror}."}, 400)

    return endpoint


def make_application(folder: OpenedFolder, token: str, port: int) -> tuple[ASGIApp, App]:
    """Return the ASGI server of a folder and its request handlers; every address begins with the token."""
    app = App(folder)
    commands = ("correct", "undo", "run", "cancel", "watch", "export")
    handlers = (app.apply_correction, app.undo, app.start_analysis, app.cancel, app.switch_watching, app.export_result)
    routes = [
        Route("/", _make_get_endpoint(app.overview)),
        Route("/recording", _make_get_endpoint(app.recording)),
        Route("/view", _make_get_endpoint(app.recording_scene)),
        Route("/report", _make_get_endpoint(app.trial_report)),
        Route("/result/{file:path}", _make_get_endpoint(app.result_file)),
        Route("/signals", _make_get_endpoint(app.signals)),
        Route("/state", _make_get_endpoint(app.analysis_progress)),
        Route("/app.css", _make_get_endpoint(lambda request: _static_file_response(request, "app.css", "text/css"))),
        Route(
            "/app.js", _make_get_endpoint(lambda request: _static_file_response(request, "app.js", "text/javascript"))
        ),
        *(
            Route(f"/{command}", _make_post_endpoint(handler), methods=["POST"])
            for command, handler in zip(commands, handlers, strict=True)
        ),
    ]

    pages = Starlette(routes=[Mount("/{token}", routes=routes)])
    return RequestGuard(pages, frozenset({f"{LOOPBACK}:{port}", f"localhost:{port}"}), token), app


def serve(root: Path, browser: bool = True, say: Callable[[str], None] = print) -> None:
    """Serve the page of a folder on the loopback address until it is interrupted."""
    folder, token = OpenedFolder(root), secrets.token_urlsafe(24)
    listener = socket.create_server((LOOPBACK, 0))
    port = listener.getsockname()[1]
    served, app = make_application(folder, token, port)
    address = f"http://{LOOPBACK}:{port}/{token}/"
    say(f"Page of '{root}': {address}")
    say("Stop with Ctrl-C. Corrections are saved at once.")
    server = uvicorn.Server(uvicorn.Config(served, log_level="error", access_log=False, server_header=False))
    with tempfile.TemporaryDirectory(prefix="biodyn-open-") as place:
        if browser:  # other users of the machine can read commands, but not this file
            start = Path(place) / "open.html"
            start.touch(mode=0o600)
            start.write_text(f'<!DOCTYPE html><meta http-equiv="refresh" content="0;url={address}">', encoding="utf-8")
            webbrowser.open(start.as_uri())
        app.start_watch()
        try:
            asyncio.run(server.serve(sockets=[listener]))
        finally:
            app.stop()
