from .commands import app as app
from .exit_codes import main as main
