"""Where points live, and the eigenfunctions of those places."""

from .circle import Circle
from .graph import Graph
from .interval import Interval
from .mesh import Mesh
from .product import Product
from .sphere import Sphere
from .tangent import TangentSphere
from .tangent_mesh import TangentMesh

__all__ = ["Circle", "Graph", "Interval", "Mesh", "Product", "Sphere", "TangentMesh", "TangentSphere"]
