"""Brain maps in volumes and on surfaces (extra `neuro`: nibabel, nilearn)."""

from .activation import ActivationRegions, activation_regions
from .completion import Reconstruction
from .errors import ImageError
from .network import Network, coactivation_network
from .seed import SeedMap, seed_map
from .surface import Mesh, SurfaceReconstructor
from .volume import VolumeReconstructor

__all__ = [
    "ActivationRegions",
    "ImageError",
    "Mesh",
    "Network",
    "Reconstruction",
    "SeedMap",
    "SurfaceReconstructor",
    "VolumeReconstructor",
    "activation_regions",
    "coactivation_network",
    "seed_map",
]
