"""The sample library: real papers that are there without a network. It is never called anything else."""

from .library import SampleLibrary, sample_library

__all__ = ["SampleLibrary", "sample_library"]
