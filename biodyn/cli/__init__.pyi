from .commands import app as app
from .start import main as main
