"""Brain maps in volumes and on surfaces (extra `neuro`: nibabel, nilearn)."""

from .activation import ActivationRegions, activation_regions
from .errors import ImageError
from .network import Network, coactivation_network
from .seed import SeedMap, seed_map
from .surface import Mesh, SurfaceReconstruction, SurfaceReconstructor
from .volume import Reconstruction, VolumeReconstructor

__all__ = [
    "ActivationRegions",
    "ImageError",
    "Mesh",
    "Network",
    "Reconstruction",
    "SeedMap",
    "SurfaceReconstruction",
    "SurfaceReconstructor",
    "VolumeReconstructor",
    "activation_regions",
    "coactivation_network",
    "seed_map",
]
