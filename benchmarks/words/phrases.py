"""What is typed: phrases for the classes of three sets, written before any of them was measured.

``loose`` is how somebody might ask who knows the pictures, ``other`` the same once more in other
words.  The class names themselves are a set's own, with blanks for underscores.  What was chosen
(benchmarks/words/choices.py) was chosen on ``loose`` of corel1k and the names of every second class
of caltech101; everything else was only measured.
"""

from __future__ import annotations

COREL_LOOSE = {
    "africa": "people in an African village",
    "beach": "a day at the beach",
    "monuments": "old buildings and ruins",
    "buses": "a bus in the street",
    "dinosaurs": "drawings of dinosaurs",
    "elephants": "elephants in the wild",
    "flowers": "flowers up close",
    "horses": "horses on a meadow",
    "mountains": "snowy mountains",
    "food": "a plate of food",
}
COREL_OTHER = {
    "africa": "tribe members in traditional dress",
    "beach": "sea, sand and waves",
    "monuments": "ancient architecture",
    "buses": "public transport",
    "dinosaurs": "extinct reptiles",
    "elephants": "big animals with a trunk",
    "flowers": "a blossom in the garden",
    "horses": "mare with her foal",
    "mountains": "alpine landscape with peaks",
    "food": "dinner is served",
}
COREL_ELSEWHERE = {
    "German": {
        "africa": "Menschen in einem afrikanischen Dorf",
        "beach": "ein Tag am Strand",
        "monuments": "alte Gebäude und Ruinen",
        "buses": "ein Bus auf der Straße",
        "dinosaurs": "Zeichnungen von Dinosauriern",
        "elephants": "Elefanten in der Wildnis",
        "flowers": "Blumen aus der Nähe",
        "horses": "Pferde auf einer Wiese",
        "mountains": "schneebedeckte Berge",
        "food": "ein Teller mit Essen",
    },
    "Spanish": {
        "africa": "gente en una aldea africana",
        "beach": "un día en la playa",
        "monuments": "edificios antiguos y ruinas",
        "buses": "un autobús en la calle",
        "dinosaurs": "dibujos de dinosaurios",
        "elephants": "elefantes en la naturaleza",
        "flowers": "flores de cerca",
        "horses": "caballos en un prado",
        "mountains": "montañas nevadas",
        "food": "un plato de comida",
    },
    "Russian": {
        "africa": "люди в африканской деревне",
        "beach": "день на пляже",
        "monuments": "старые здания и руины",
        "buses": "автобус на улице",
        "dinosaurs": "рисунки динозавров",
        "elephants": "слоны в дикой природе",
        "flowers": "цветы крупным планом",
        "horses": "лошади на лугу",
        "mountains": "снежные горы",
        "food": "тарелка с едой",
    },
    "emoji": {
        "africa": "👨🏿‍🌾🛖",
        "beach": "🏖️",
        "monuments": "🏛️",
        "buses": "🚌",
        "dinosaurs": "🦕",
        "elephants": "🐘",
        "flowers": "🌸",
        "horses": "🐎",
        "mountains": "🏔️",
        "food": "🍽️",
    },
}
CALTECH_LOOSE = {
    "Faces_easy": "a portrait of a person",
    "Leopards": "spotted big cat",
    "accordion": "a musical instrument with keys and bellows",
    "ant": "a small insect that lives in colonies",
    "barrel": "wooden container for wine",
    "beaver": "animal that builds dams",
    "brain": "the organ for thinking",
    "brontosaurus": "long-necked dinosaur",
    "buddha": "statue of a sitting man meditating",
    "butterfly": "insect with colourful wings",
    "camera": "thing to take photographs with",
    "car_side": "an automobile seen from the side",
    "ceiling_fan": "it cools a room from above",
    "chandelier": "hanging lights in a ballroom",
    "crab": "sea animal with pincers",
    "dalmatian": "white dog with black spots",
    "dollar_bill": "paper money",
    "dolphin": "clever animal jumping out of the sea",
    "electric_guitar": "what a rock musician plays",
    "flamingo": "pink bird on one leg",
    "grand_piano": "instrument in a concert hall",
    "headphone": "worn over the ears to hear music",
    "helicopter": "aircraft with rotor blades",
    "kangaroo": "Australian animal that hops",
    "laptop": "portable computer",
    "pizza": "Italian dish with cheese and tomato",
    "revolver": "a hand gun",
    "schooner": "sailing ship",
    "soccer_ball": "round thing players kick into a goal",
    "stop_sign": "red traffic sign",
}
CIFAR_LOOSE = {
    "airplane": "a plane in the sky",
    "automobile": "a family car",
    "bird": "a bird on a branch",
    "cat": "a cute kitten",
    "deer": "a deer in the forest",
    "dog": "somebody's dog",
    "frog": "a frog by the pond",
    "horse": "riding a horse",
    "ship": "a ship at sea",
    "truck": "a lorry on the motorway",
}
CIFAR_OTHER = {
    "airplane": "something that flies passengers",
    "automobile": "vehicle with four wheels",
    "bird": "feathered animal",
    "cat": "pet that purrs",
    "deer": "animal with antlers",
    "dog": "man's best friend",
    "frog": "green amphibian",
    "horse": "stallion with a mane",
    "ship": "large vessel in the harbour",
    "truck": "it carries heavy loads",
}


def spelt(name: str) -> str:
    """A class name as it would be typed."""
    return name.replace("_", " ")
