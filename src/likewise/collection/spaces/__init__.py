"""What a picture becomes, and the files its rows lie in."""
