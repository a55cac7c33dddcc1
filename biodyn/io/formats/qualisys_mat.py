"""MATLAB files of Qualisys Track Manager, .mat; `biodyn.io.qualisys_mat` is their reader."""

from biodyn.io.format import FORMATS, Format
from biodyn.io.matlab import is_matlab
from biodyn.io.qualisys_mat import SUFFIX, read_qualisys_mat

FORMATS.add("qualisys_mat", Format("MATLAB file of QTM", (SUFFIX,), is_matlab, read_qualisys_mat))
