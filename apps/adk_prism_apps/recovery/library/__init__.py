"""The data folders that the skills read: one folder per fire, and the reference tables."""

from .fire import FireFolder
from .folder import DATA_VARIABLE, data_folder
from .library import Library
from .problem import DataProblem
from .sheet import Sheet

__all__ = ["DATA_VARIABLE", "DataProblem", "FireFolder", "Library", "Sheet", "data_folder"]
