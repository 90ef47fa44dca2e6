"""Where points live, and the eigenfunctions of those places."""

from .circle import Circle
from .graph import Graph
from .interval import Interval
from .mesh import Mesh
from .product import Product
from .sphere import Sphere

__all__ = ["Circle", "Graph", "Interval", "Mesh", "Product", "Sphere"]
