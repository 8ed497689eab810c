"""Who did what, when and from where: the trail of deeds that somebody may have to account for."""
