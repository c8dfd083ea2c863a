"""The regression sets of the paper and of follow-up work: one entry each, with traps, checksums and sources.

Checksums were taken from the files behind our reported numbers.
"""

from __future__ import annotations

from iegp.datasets import parsers
from iegp.datasets.entry import Dataset, Source, files, numbered

_ADARAKER = "https://raw.githubusercontent.com/N1cekiko/AdaRaker/HEAD/dataset/"
_TORGO = "https://raw.githubusercontent.com/genyang/datasets/9cf25ea6e5b376a5a2a98092cb6ab8b03f05adcf/"
_GPML = "http://www.gaussianprocess.org/gpml/data/"
_SARCOS_CSV = "https://raw.githubusercontent.com/reido2012/ML-Methods/68961f756dab7d2ddc5543b1abc3a54c7ef66e5f/"

_JOINTS = tuple(f"{quantity}{joint}" for quantity in ("q", "qd", "qdd") for joint in range(1, 8))
_ONE_SCALE = (
    "X is divided by one constant for the whole matrix: columns differ in range by up to six orders of magnitude.",
    "Feature names are inferred from the documented attribute order; the source file carries none.",
)


def _grouped(groups: str, n_steps: int) -> tuple[str, ...]:
    return tuple(f"{group}_{step}" for group in groups.split() for step in range(n_steps))


def _adaraker(name: str) -> tuple[Source, ...]:
    return (Source(files(_ADARAKER, name), parsers.matlab_samples_in_columns(name)),)


def _torgo(name: str) -> tuple[Source, ...]:
    return (Source(files(_TORGO, name), parsers.arff(name)),)


REGRESSION = (
    Dataset(
        name="toms_hardware",
        title="Tom's hardware",
        task="regression",
        description="buzz on the forum Tom's Hardware: displays of a topic from eight weeks of activity (9725 x 96)",
        feature_names=_grouped("NCD BL NAD AI NAC ND CS AT NA ADL AS_NA AS_NAC", 8),
        target_name="mean ND (number of displays), scaled to [0,1]",
        published='UCI, "Buzz in social media"; the 9725 rows of N1cekiko/AdaRaker, dataset/TomData.mat',
        sha256="f1f7ea6d407c120991b7b3b277e488fcaf130b9c3199fe25094b47529c6f2791",
        content={
            "X": "0d667ee22e4fcd0027505a9088e4572609e28d4b6c4d2e8ea50e7aa11f74ab1c",
            "y": "fb0c3cfa62ebdb145e253254de6005f4988a08ac6ff5115044ec5b675572a147",
        },
        sources=_adaraker("TomData.mat"),
        notes=(*_ONE_SCALE, "A subset: the UCI file has 28179 rows, and how these were chosen is not documented."),
    ),
    Dataset(
        name="sarcos",
        title="SARCOS",
        task="regression",
        description="inverse dynamics of a seven-joint robot arm: torque of joint 1 from the motion (44484 x 21)",
        feature_names=_JOINTS,
        target_name="torque 1",
        published="the GPML book site, http://www.gaussianprocess.org/gpml/data/ (sarcos_inv.mat)",
        sha256="db97027b7e9c08a3d3ff3c15a19882930a66d383c2e9584a769a74127ca32cbe",
        content={
            "X": "ae5da87d99e58f831916ac909e7f78ab0efccfac74819bd988c1d35db56f1868",
            "y": "3b6de693466d1f4130cf0aa91a4b26e5042533d8d0ddfd703af4d3858ce8e040",
        },
        sources=(
            Source(
                files(_SARCOS_CSV, "sarcos_data/sarcos_inv.zip"),
                parsers.csv_in_zip("sarcos_inv.zip", "sarcos_inv.csv"),
            ),
            Source(files(_GPML, "sarcos_inv.mat"), parsers.matlab_columns("sarcos_inv.mat", "sarcos_inv", 21)),
        ),
        notes=(
            "Raw units; consecutive rows are smooth trajectories, so neighbours are nearly copies of each other.",
            "Public copies print 8 or 9 digits: content is compared to 8.",
        ),
        digits=8,
    ),
    Dataset(
        name="sarcos_test",
        title="SARCOS, test part",
        task="regression",
        description="the test part published with SARCOS (4449 x 21; array Y holds all seven torques)",
        feature_names=_JOINTS,
        target_name="torque 1",
        published="the GPML book site, http://www.gaussianprocess.org/gpml/data/ (sarcos_inv_test.mat)",
        sha256="ae0e5d64edf19401ce7f9456b06dde5d9189c4a6ab15f909250b663b3c08d49a",
        content={
            "X": "c01c28e999f2760f43646e37328c68a16ec4aa0ed0d09de29f3283cd4bb22589",
            "y": "a77804eef5ee3a1405fe601f031761b4b9cda28fc25b6d2127353a8fc2092403",
            "Y": "50831d445603ffafb68ae3c8f7d07d84d3f18afa1b807c51b18dfc133a8014d7",
        },
        sources=(
            Source(
                files(_GPML, "sarcos_inv_test.mat"),
                parsers.matlab_columns("sarcos_inv_test.mat", "sarcos_inv_test", 21, all_targets=True),
            ),
        ),
        notes=("Not a clean test set: all its rows also occur in sarcos (to 8 digits).",),
        digits=8,
    ),
    Dataset(
        name="air_quality",
        title="Air quality",
        task="regression",
        description="carbon monoxide in an Italian city, hour by hour, from cheap sensors and weather (7322 x 13)",
        feature_names=(
            *("Time_of_day", "PT08.S1(CO)", "NMHC(GT)", "C6H6(GT)", "PT08.S2(NMHC)", "NOx(GT)", "PT08.S3(NOx)"),
            *("NO2(GT)", "PT08.S4(NO2)", "PT08.S5(O3)", "T", "RH", "AH"),
        ),
        target_name="CO(GT), scaled to [0,1]",
        published="UCI, Air Quality (De Vito et al. 2008); rows and scaling of N1cekiko/AdaRaker, dataset/AirData.mat",
        sha256="38418a3a455057be6665997c2953bbd84cb63e14d31656d8951bea48d3f40000",
        content={
            "X": "118b33f63741a7b698a889fb344666450e879ccdccafed46517dce278293ff27",
            "y": "d38e99adc16d4010a96d369ef57e30974c1585ab96483580b415d186e18ebc7f",
        },
        sources=_adaraker("AirData.mat"),
        notes=(
            "Missing readings are coded, not dropped: exactly 0 in X (NMHC(GT) in 88 % of the rows).",
            "One column more than the paper's 12, which are probably these without Time_of_day.",
            "X = (value + 200) / 2975 with one constant for all columns; a download has no arrays in physical units.",
        ),
    ),
    Dataset(
        name="twitter",
        title="Twitter",
        task="regression",
        description="buzz on Twitter: active discussions of a topic from seven days of activity (13813 x 77)",
        feature_names=_grouped("NCD AI AS_NA BL NAC AS_NAC CS AT NA ADL NAD", 7),
        target_name="mean NAD (active discussions), scaled to [0,1]",
        published='UCI, "Buzz in social media"; the 13813 rows of N1cekiko/AdaRaker, dataset/TwitterData.mat',
        sha256="d29dd8c45b99a0508c8d96aebca7d3d2606b15a12d6c0d409d7bc113c0958a54",
        content={
            "X": "089c2ebb7b086cf574e3908a94a5c20dae1b919787aaa916a27bb71cf564d59c",
            "y": "192444b7512bc284ae615cb1873c0f38f44e6b822731e6df4f1891152a35c694",
        },
        sources=_adaraker("TwitterData.mat"),
        notes=(*_ONE_SCALE, "A subset: UCI has 583250 rows; the paper's number of rows is not known to be this one."),
    ),
    Dataset(
        name="energy",
        title="Energy",
        task="regression",
        description="energy used by appliances in a house, every ten minutes, from its climate (18604 x 25)",
        feature_names=numbered("x", 25),
        target_name="energy use, scaled to [0,1]",
        published="UCI, Appliances energy prediction; N1cekiko/AdaRaker, dataset/EnergyData.mat",
        sha256="aa1bbfd0c4e12a3d8bbaf93e8c1cdda1540264e201c7d7dc1cd6ec169f09e5b8",
        content={
            "X": "e750cbfb7a766a4f5676237bde70ca139037c0490b18070e3e3e9e50947ab759",
            "y": "4d213a864b52a9309067f91ad1ccaba1b3254624dc53459800324b15b0a7be99",
        },
        sources=_adaraker("EnergyData.mat"),
        notes=("Not in the paper.", "Scaled by one constant for the whole matrix; the source names no features."),
    ),
    Dataset(
        name="elevators",
        title="Elevators",
        task="regression",
        description="control of an F-16: action on the elevators from the state of the aircraft (16599 x 18)",
        feature_names=(
            *("climbRate", "Sgz", "p", "q", "curRoll", "absRoll", "diffClb", "diffRollRate", "diffDiffClb"),
            *("SaTime1", "SaTime2", "SaTime3", "SaTime4", "diffSaTime1", "diffSaTime2", "diffSaTime3"),
            *("diffSaTime4", "Sa"),
        ),
        target_name="elevator action",
        published="L. Torgo's regression data sets; genyang/datasets, elevators.arff",
        sha256="a902d9b3c6c5efd720a63d30e3b492f2b579e3fd6fa3e852463e54561f25e9bd",
        content={
            "X": "7f662d1cca9e9a184a62d0d596277d787e22cc219ccf3bb96283082a07f0b904",
            "y": "9d0215686cfd2d2f4dad48ce1aaf0d7c08a815560d737fa03a3225c1b5765132",
        },
        sources=_torgo("elevators.arff"),
        notes=("Not in the paper.", "Other copies are centred or in another row order and give other online results."),
    ),
    Dataset(
        name="cpu_small",
        title="CPU small",
        task="regression",
        description="share of time a computer spends in user mode, from its activity counters (8192 x 12)",
        feature_names=(
            *("lread", "lwrite", "scall", "sread", "swrite", "fork", "exec", "rchar", "wchar", "runqsz"),
            *("freemem", "freeswap"),
        ),
        target_name="usr",
        published="Delve and L. Torgo's regression data sets; genyang/datasets, cpu_small.arff",
        sha256="91f2f7964d420c4f56d4460886a2a789e6f550967503a2522e32729d31a72829",
        content={
            "X": "1e1ba137231076c7c21713d8d25e902dc176ba636101c8927361aae145fd35ed",
            "y": "edc5421f79252147ed835a302ef969bfd6d9240bf270bfe1ae9f430e054f3b60",
        },
        sources=_torgo("cpu_small.arff"),
        notes=("Not in the paper.",),
    ),
    Dataset(
        name="cadata",
        title="CaData",
        task="regression",
        description="median house values in California, 1990 census (20640 x 8)",
        feature_names=(
            *("longitude", "latitude", "housingMedianAge", "totalRooms", "totalBedrooms", "population", "households"),
            "medianIncome",
        ),
        target_name="medianHouseValue (USD)",
        published="StatLib, Pace & Barry 1997; genyang/datasets, california_housing.arff",
        sha256="a0648fd2c6e55d890e7b6fd1b75872fd493bb071f7834a6f3646cf5c313d413a",
        content={
            "X": "18537733f438db0cec7eda5d5fdc1dfdebd113a3c4e2682bf319bdec3f5b3668",
            "y": "86349b37c94bc02f935e204c26328d1015b569bd6c7e5b89e9c23690a8345b74",
        },
        sources=_torgo("california_housing.arff"),
        notes=("Not in the paper.", "Rows are in geographic order: a stream over places, with drift of its own."),
    ),
    Dataset(
        name="fried",
        title="Fried",
        task="regression",
        description="Friedman's artificial domain as a fixed file (40768 x 10)",
        feature_names=numbered("X", 10),
        target_name="y",
        published="L. Torgo's regression data sets; genyang/datasets, friedman.arff",
        sha256="bbdd6be492b1a6a5467c2380ce22a35e5878bea47821b1182c899919246101ad",
        content={
            "X": "ad18e038fc712294db85c01d53622187e884cc9f44b27f857fd87466b824cea0",
            "y": "0ea81e871d815226831c70feb3b888758ebe5215a455c8238866441e9df9ff4d",
        },
        sources=_torgo("friedman.arff"),
        notes=("Not in the paper.", "Simulated: rows are independent and nothing drifts."),
    ),
)
