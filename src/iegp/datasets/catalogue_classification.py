"""The classification sets of the paper: one entry each, with traps, checksums and sources.

Checksums were taken from the files behind our reported numbers.
"""

from __future__ import annotations

from iegp.datasets import parsers
from iegp.datasets.entry import Dataset, Source, files, numbered

_PMLB = "https://github.com/EpistasisLab/pmlb/raw/master/datasets/"
_OIL = "https://raw.githubusercontent.com/renero/class_notebooks/ddf83d18fab7c03f38fd6b37c3567b208ae9f2eb/data/"
_MNIST_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)
_USPS_MIRRORS = (
    "https://hastie.su.domains/ElemStatLearn/datasets/",
    "https://web.stanford.edu/~hastie/ElemStatLearn/datasets/",
)


def _mnist(base: str) -> Source:
    train = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
    test = ("t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")
    return Source(files(base, *train, *test), parsers.idx_images(train, test))


def _usps(base: str) -> Source:
    return Source(files(base, "zip.train.gz", "zip.test.gz"), parsers.zip_digits("zip.train.gz", "zip.test.gz"))


CLASSIFICATION = (
    Dataset(
        name="banana",
        title="Banana",
        task="binary classification",
        description="two banana-shaped clouds, labels -1 and +1 (5300 x 2)",
        feature_names=("At1", "At2"),
        target_name="class (-1, +1)",
        published="Rätsch's IDA benchmark; KEEL copy in the Penn Machine Learning Benchmarks (banana)",
        sha256="7b351fcb6bd63720f3a6789c666d338e4ef808b841466819029fd640be104879",
        content={
            "X": "6696d0d149913c56df6cd436263802a533cd6e01d5cb9975ff541019dd6882db",
            "y": "54036204c3d7f144378c2b269acd001627fae13809abc5069dc6b7a232b88e77",
        },
        sources=(Source(files(_PMLB, "banana/banana.tsv.gz"), parsers.pmlb("banana.tsv.gz", 2, "float64", (-1, 1))),),
        notes=("Three significant digits; the six-decimal copy stands in another row order.",),
    ),
    Dataset(
        name="musk",
        title="Musk (version 2)",
        task="binary classification",
        description="which conformations of molecules are musks, labels 0 and 1 (6598 x 166)",
        feature_names=numbered("f", 166),
        target_name="musk (0, 1)",
        published="UCI, Musk (Version 2); Penn Machine Learning Benchmarks (clean2)",
        sha256="a764abe1b3e7c53a478697756819c2408a81526592d7d7dcc8af831cb94ca5f2",
        content={
            "X": "c7dedca58d507cd043bc6b82a5a5cc4f1df35107c99ae369707abcf79bdc3fac",
            "y": "aa45e062709819388cbdd73dbaf3c5c895a858ced71494a4e73821f16f835e1f",
        },
        sources=(Source(files(_PMLB, "clean2/clean2.tsv.gz"), parsers.pmlb("clean2.tsv.gz", 166, "int16", (0, 1))),),
        notes=(
            "SORTED BY CLASS, all positives first: shuffle before online use.",
            "Conformations of one molecule are nearly copies of each other; split by molecule to test generalisation.",
        ),
    ),
    Dataset(
        name="ionosphere",
        title="Ionosphere",
        task="binary classification",
        description="radar returns from the ionosphere, good (+1) or bad (-1) (351 x 34)",
        feature_names=numbered("x", 34),
        target_name="class (-1, +1)",
        published="UCI, Ionosphere (Sigillito et al. 1989)",
        sha256="0df3402712f1660be70a211b63842d0ff09991d2be444ff80c07e539beb15efd",
        content={
            "X": "b199040b74cbfa299de49ca024e7bf240d8373bdf174e8878b2b2324a3c2c424",
            "y": "f41a8649377c20ab9e5ed1087b59f63d540f248e78e0d700fe8db704b0d82f09",
        },
        sources=(
            Source(
                files("https://archive.ics.uci.edu/static/public/52/", "ionosphere.zip"),
                parsers.ionosphere("ionosphere.zip", "ionosphere.data"),
            ),
        ),
        notes=(
            "Column 2 is constant 0.",
            "Labels alternate over the first 250 rows; the last 97 are all good: the order tells the label.",
        ),
    ),
    Dataset(
        name="usps",
        title="USPS",
        task="multi-class classification",
        description="handwritten digits from US zip codes, 16 x 16 pixels in [-1, 1] (9298 x 256)",
        feature_names=numbered("p", 256),
        target_name="digit",
        published="the site of The Elements of Statistical Learning (zip.train, zip.test)",
        sha256="6741cc24932ca96ae07de7601ce623ea08953d99e4427eff55a1af079eaa4f2f",
        content={
            "X": "8dd4e7066ebe92096eac755bbbedbb3e0c5163b0da1a1ea203d35edc0a3ad204",
            "y": "b5bf2422a8f01d27bb2f3cca99d94664080fb5e7e5957b66505ee7d537edc613",
            "is_test": "099e056a8c7e825e069b2fd60259ab4958844842ee30726947bdea90a7e8b4bc",
        },
        sources=tuple(_usps(base) for base in _USPS_MIRRORS),
        notes=(
            "Digits 0-4 are 5427 rows, not the paper's 5474; no choice of five digits gives that number.",
            "7291 training rows come first, then 2007 test rows of another collection (is_test).",
        ),
    ),
    Dataset(
        name="oil_flow",
        title="Oil flow",
        task="multi-class classification",
        description="three regimes of flow in an oil pipeline from twelve gamma-ray readings (1000 x 12)",
        feature_names=numbered("x", 12),
        target_name="regime (0, 1, 2)",
        published="Bishop & James 1993, three-phase data; renero/class_notebooks, data/DataTrn.txt",
        sha256="bfe971f51ff2c085cbbbc06a9c90210a399e474b115e9ddf29e9979734bd1e3e",
        content={
            "X": "32a7e1ed8631af7d5d6df5b28103a0f08d898f74562e565045735ac7a07c2bad",
            "y": "e08826d2e55c31e26981b1fa009d104f76026c056ee523f08f7b6b8a532fca02",
            "X_test": "44e4670a2ccadab0d1762746eae8cc5419bc961ddef5d580b4ccb5f33e5ce276",
            "y_test": "bb1925b6e68bf368f7548ffc3e9fefc26a8a7d3595a6ca3b1d114084ca36fb1d",
            "X_valid": "a3d9567866e1b9e76b719e66bc5601f36f785b305b96678c91d110723a8b650e",
            "y_valid": "b9c8865092625977b563cb7dc5163e2d8b761d5c4e8cf12318e8373aa0f48695",
        },
        sources=(
            Source(
                files(_OIL, *(f"Data{part}{kind}.txt" for part in ("Trn", "Tst", "Vdn") for kind in ("", "Lbls"))),
                parsers.oil_flow({"": "Trn", "_test": "Tst", "_valid": "Vdn"}),
            ),
        ),
        notes=("The training part; test and validation parts of 1000 rows each are further arrays.",),
    ),
    Dataset(
        name="mnist",
        title="MNIST",
        task="multi-class classification",
        description="handwritten digits, 28 x 28 pixels 0..255 (70000 x 784)",
        feature_names=numbered("p", 784),
        target_name="digit",
        published="LeCun, Cortes & Burges; mirrors of the four idx files",
        sha256="02149d40e4fbfa7a34c74c395f0068970138f677d995535978a5727d49f9cd0e",
        content={
            "X": "aa878eed916c9bdc31dbd3fb28efc2c7369e07022f351d5deb08afe0511aa7c6",
            "y": "5f2e9bb9de383bf480b79d77e2c4af535203f0b37320231c353422bbffc8d2dc",
            "is_test": "eeac19cfaf94212bf15c9c71889a1c9532afce5608e6407e320c87da48186018",
        },
        sources=tuple(_mnist(base) for base in _MNIST_MIRRORS),
        notes=(
            "As a Stream it takes 440 MB of float64; load_arrays keeps the bytes (55 MB).",
            "60000 training rows come first, then 10000 test rows by other writers (is_test).",
        ),
    ),
)
