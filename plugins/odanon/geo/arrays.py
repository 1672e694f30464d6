"""Types of arrays that hold coordinates, labels and shapes."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
ObjectArray = npt.NDArray[np.object_]
