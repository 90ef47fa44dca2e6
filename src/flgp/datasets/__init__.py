"""Data for the experiments: simulated manifolds with exact answers, and MNIST."""

from .augmentation import augmented_features, crop_and_resize, crop_boxes
from .exact import (
    circle_distance,
    circle_heat_kernel,
    interval_heat_kernel,
    rectangle_distance,
    rectangle_heat_kernel,
    sphere_distance,
    sphere_heat_kernel,
    spiral_arc_length,
    swiss_roll_arc_length,
    torus_distance,
    torus_heat_kernel,
)
from .folded_sheet import FoldedSheetData, folded_sheet
from .generators import (
    CircleData,
    CirclesData,
    SphereData,
    SwissRollData,
    circle,
    circles,
    sphere,
    swiss_roll,
)
from .idx import read_idx
from .mnist import Mnist, MnistFeatures, load_mnist, mnist_pca
from .spiral import SpiralData, spiral, spiral_density
from .torus import TorusData, torus

__all__ = [
    "CircleData",
    "CirclesData",
    "FoldedSheetData",
    "Mnist",
    "MnistFeatures",
    "SphereData",
    "SpiralData",
    "SwissRollData",
    "TorusData",
    "augmented_features",
    "circle",
    "circle_distance",
    "circle_heat_kernel",
    "circles",
    "crop_and_resize",
    "crop_boxes",
    "folded_sheet",
    "interval_heat_kernel",
    "load_mnist",
    "mnist_pca",
    "read_idx",
    "rectangle_distance",
    "rectangle_heat_kernel",
    "sphere",
    "sphere_distance",
    "sphere_heat_kernel",
    "spiral",
    "spiral_arc_length",
    "spiral_density",
    "swiss_roll",
    "swiss_roll_arc_length",
    "torus",
    "torus_distance",
    "torus_heat_kernel",
]
