"""What is typed: phrases for the classes of three sets, written before any of them was measured.

``loose`` is how somebody might ask who knows the pictures, ``other`` the same once more in other
words.  The class names themselves are a set's own, with blanks for underscores.  What was chosen
was chosen on ``loose`` of corel1k and the names of every second class of caltech101; the phrases
stayed as they were.
"""

from __future__ import annotations

COREL_LOOSE = {
    "african_people": "people in an African village",
    "beach": "a day at the beach",
    "monument": "old buildings and ruins",
    "bus": "a bus in the street",
    "dinosaur": "drawings of dinosaurs",
    "elephant": "elephants in the wild",
    "flower": "flowers up close",
    "horse": "horses on a meadow",
    "mountain_snow": "snowy mountains",
    "food": "a plate of food",
}
COREL_OTHER = {
    "african_people": "tribe members in traditional dress",
    "beach": "sea, sand and waves",
    "monument": "ancient architecture",
    "bus": "public transport",
    "dinosaur": "extinct reptiles",
    "elephant": "big animals with a trunk",
    "flower": "a blossom in the garden",
    "horse": "mare with her foal",
    "mountain_snow": "alpine landscape with peaks",
    "food": "dinner is served",
}
COREL_ELSEWHERE = {
    "German": {
        "african_people": "Menschen in einem afrikanischen Dorf",
        "beach": "ein Tag am Strand",
        "monument": "alte Gebäude und Ruinen",
        "bus": "ein Bus auf der Straße",
        "dinosaur": "Zeichnungen von Dinosauriern",
        "elephant": "Elefanten in der Wildnis",
        "flower": "Blumen aus der Nähe",
        "horse": "Pferde auf einer Wiese",
        "mountain_snow": "schneebedeckte Berge",
        "food": "ein Teller mit Essen",
    },
    "Spanish": {
        "african_people": "gente en una aldea africana",
        "beach": "un día en la playa",
        "monument": "edificios antiguos y ruinas",
        "bus": "un autobús en la calle",
        "dinosaur": "dibujos de dinosaurios",
        "elephant": "elefantes en la naturaleza",
        "flower": "flores de cerca",
        "horse": "caballos en un prado",
        "mountain_snow": "montañas nevadas",
        "food": "un plato de comida",
    },
    "Russian": {
        "african_people": "люди в африканской деревне",
        "beach": "день на пляже",
        "monument": "старые здания и руины",
        "bus": "автобус на улице",
        "dinosaur": "рисунки динозавров",
        "elephant": "слоны в дикой природе",
        "flower": "цветы крупным планом",
        "horse": "лошади на лугу",
        "mountain_snow": "снежные горы",
        "food": "тарелка с едой",  # noqa: RUF001
    },
    "emoji": {
        "african_people": "👨🏿‍🌾🛖",
        "beach": "🏖️",
        "monument": "🏛️",
        "bus": "🚌",
        "dinosaur": "🦕",
        "elephant": "🐘",
        "flower": "🌸",
        "horse": "🐎",
        "mountain_snow": "🏔️",
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
