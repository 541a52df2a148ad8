__all__ = ['ttypes', 'constants', 'SchedulerService']
