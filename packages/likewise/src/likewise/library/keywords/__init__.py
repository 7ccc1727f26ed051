"""Words that come with pictures: XMP, IPTC, sidecars, folders and lists of tags."""
