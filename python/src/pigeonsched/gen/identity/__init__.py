__all__ = ['ttypes', 'constants', 'IdentityService']
