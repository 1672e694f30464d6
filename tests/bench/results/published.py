"""Figures that the papers published; None where a paper gives none."""

from typing import NamedTuple


class Solver(NamedTuple):
    """A row of 000 Table 6, with our name of the algorithm: seconds are for all matrices of the set."""

    seconds: float
    gbar: float
    e: float
    s: float


# 000 Table 2: tiles, mean flows, mean volume, share of the volume in flows of 10 or more.
SETS = {
    "nyc": (263, 3058, 15009, 0.590),
    "civ": (1221, 3523, 3117, 0.026),
    "senegal": (1666, 18276, 41027, 0.368),
    "senegal_crop": (599, 13710, 29614, 0.378),
    "senegal_split": (6664, 305194, 956742, 0.460),
    "senegal_big": (1666, 100322, 956742, 0.807),
}

# 000 Table 6.
DETAILED = {
    "nyc": {
        "atg-dual": Solver(1, 4.7, 0.49, 0.100),
        "atg-soft": Solver(0, 9.1, 0.62, 0.033),
        "oigh": Solver(5, 7.0, 0.75, 0.097),
        "glove": Solver(282, 4.2, 0.52, 0.100),
        "glove-sk": Solver(9, 24.4, 0.70, 0.100),
        "mondrian": Solver(92, 7.5, 0.49, 0.0),
    },
    "civ": {
        "atg-dual": Solver(5, 57.2, 1.72, 0.100),
        "atg-soft": Solver(2, 74.4, 3.58, 0.053),
        "oigh": Solver(11, 106.8, 1.79, 0.099),
        "glove": Solver(394, 35.7, 1.01, 0.100),
        "glove-sk": Solver(9, 542.9, 1.39, 0.099),
        "mondrian": Solver(37, 52.0, 1.32, 0.0),
    },
    "senegal": {
        "atg-dual": Solver(9, 17.4, 1.21, 0.100),
        "atg-soft": Solver(4, 43.5, 1.41, 0.032),
        "oigh": Solver(26, 26.2, 1.36, 0.099),
        "glove": Solver(15458, 16.0, 0.82, 0.100),
        "glove-sk": Solver(78, 667.6, 1.21, 0.100),
        "mondrian": Solver(333, 22.7, 0.96, 0.0),
    },
    "senegal_crop": {
        "atg-dual": Solver(6, 13.6, 1.19, 0.100),
        "atg-soft": Solver(1, 27.5, 1.31, 0.030),
        "oigh": Solver(12, 32.7, 1.35, 0.098),
        "glove": Solver(7067, 13.5, 0.82, 0.100),
        "glove-sk": Solver(52, 508.0, 1.04, 0.100),
        "mondrian": Solver(223, 20.4, 0.95, 0.0),
    },
    "senegal_split": {
        "atg-dual": Solver(95, 16.0, 0.75, 0.100),
        "atg-soft": Solver(26, 83.5, 1.14, 0.018),
        "oigh": Solver(930, 19.7, 1.09, 0.099),
        "glove-sk": Solver(3023, 2304.5, 1.09, 0.100),
        "mondrian": Solver(9561, 20.2, 0.78, 0.0),
    },
    "senegal_big": {
        "atg-dual": Solver(15, 3.9, 0.17, 0.098),
        "atg-soft": Solver(5, 13.9, 0.53, 0.011),
        "oigh": Solver(54, 6.2, 0.79, 0.095),
        "glove-sk": Solver(340, 80.9, 0.68, 0.100),
        "mondrian": Solver(1979, 7.5, 0.41, 0.0),
    },
}

# 000 Tables 3 and 4: Gbar, E, D, seconds, S.
AVERAGES = {
    "Table 3": (
        ("nyc", "civ", "senegal", "senegal_crop"),
        {
            "atg-dual": (24.90, 1.18, 1.14, 23, 0.0999),
            "atg-soft": (40.41, 1.76, 1.31, 9, 0.0324),
            "oigh": (53.62, 1.34, 1.30, 56, 0.0987),
            "glove-sk": (444.12, 1.10, 1.36, 358, 0.0999),
            "glove": (18.70, 0.81, 0.84, 23203, 0.0998),
            "mondrian": (27.39, 0.95, 1.02, 688, 0.0),
            "suppression": (None, 0.33, 1.34, None, 0.3946),
            "laplace": (None, 2.88, 6.78, None, -1.7092),
        },
    ),
    "Table 4": (
        ("senegal_split", "senegal_big"),
        {
            "atg-dual": (19.85, 0.72, 0.78, 111, 0.0992),
            "atg-soft": (65.39, 1.07, 1.09, 32, 0.0154),
            "oigh": (29.68, 1.10, 1.15, 985, 0.0979),
            "glove-sk": (1361.51, 1.04, 1.25, 3376, 0.1000),
            "mondrian": (25.19, 0.76, 0.85, 11541, 0.0),
            "suppression": (None, 0.49, 1.02, None, 0.5900),
            "laplace": (None, 2.87, 3.33, None, -0.8698),
        },
    ),
}

# 001 Table 1: k -> approach -> MAO, MAD (km2), share that is k-anonymous.
QUADTREE = {
    6: {
        "quadtree-knapsack": (1.71, 1.67, 0.9997),
        "uniform 4 x 4": (0.64, 3.60, 0.9961),
        "uniform 8 x 8": (2.56, 3.41, 0.9990),
        "uniform 16 x 16": (10.24, 10.35, 0.9994),
    },
    11: {
        "quadtree-knapsack": (2.93, 2.86, 0.9993),
        "uniform 4 x 4": (0.64, 7.83, 0.9923),
        "uniform 8 x 8": (2.56, 4.81, 0.9978),
        "uniform 16 x 16": (10.24, 10.60, 0.9991),
    },
    16: {
        "quadtree-knapsack": (3.77, 3.56, 0.9990),
        "uniform 4 x 4": (0.64, 11.69, 0.9886),
        "uniform 8 x 8": (2.56, 6.22, 0.9967),
        "uniform 16 x 16": (10.24, 10.89, 0.9988),
    },
}

# 002 section 4.1 and Table 5.1: trips, pairs, origin tiles, destination tiles, after the filter of the city centre. The
# thesis tells pairs after it; trips shrink with them here, and Paris has as many tiles as Gbar of its OIGH, whose origins
# are one area, allows.
CITIES = {
    "paris": (26_059, 23_264, 6_800, 6_800),
    "turin": (789_617, 458_918, 3_606, 3_608),
    "porto": (1_674_160, 501_472, 8_444, 18_359),
}

# 002 Tables 5.2-5.4: C_DM, C_AVG, Gbar, E, GDM (m), seconds.
CITY_FIGURES = {
    "paris": {
        "odkanon": (5.4e7, 13.2, 601.8, 1.91, 933.9, 26.4),
        "atg-soft": (1.1e8, 46.5, 6807.6, 1.98, 7275.0, 29.8),
        "oigh": (3.6e7, 80.5, 6869.0, 1.99, 7345.8, 14.3),
        "mondrian": (4.0e5, 1.3, None, None, 351.8, 7.2),
    },
    "turin": {
        "odkanon": (4.1e9, 77.1, 280.1, 1.80, 691.3, 30.6),
        "atg-soft": (5.7e10, 71.9, 3073.8, 1.88, 1105.4, 4.9),
        "oigh": (1.2e10, 886.7, 3328.7, 1.97, 1721.3, 2.5),
        "mondrian": (1.2e7, 1.2, None, None, 118.6, 2446.1),
    },
    "porto": {
        "odkanon": (6.2e9, 208.1, 270.8, 1.71, 730.9, 14.8),
        "atg-soft": (9.7e10, 41.6, 2277.9, 1.82, 806.9, 2.7),
        "oigh": (4.2e10, 1765.1, 2240.3, 1.97, 3177.3, 1.5),
        "mondrian": (1.5e7, 1.5, None, None, 81.1, 3094.0),
    },
}

# 002 Table 5.5 and section 5.2.1, ODkAnon on everybody: least people, cells below, least weight, cells below, shape.
CROSS = {
    "participants": (10, 0, 10_274, 21, "29 x 29"),
    "population": (4, 13, 26_742, 0, "35 x 29"),
}
# 002 Tables 5.10-5.13, ODkAnon by sex: Gbar on participants, Gbar on the population.
CROSS_SEX = {
    ("participants", "M"): (4388.3, 4377.5),
    ("participants", "F"): (446.7, 433.5),
    ("population", "M"): (6726.8, 6724.4),
    ("population", "F"): (450.3, 437.2),
}
PARIS_MEAN_WEIGHT = 2_674
