package sim

import "fmt"

// cores is how many workers (slots) one worker core stands for.
func (c *Config) cores() int { return c.Policy.SlotsPerWorker() }

// whole says that the workers make up whole nodes.
func (c *Config) whole() error {
	n := c.cores()
	if c.Policy.Central {
		if total := sum(c.Groups); total%n != 0 {
			return fmt.Errorf("policy %s has nodes of %d cores, and %d workers are not a multiple of that: change one of them", c.Policy.Name, n, total)
		}
		return nil
	}
	for i, size := range c.Groups {
		if size%n != 0 {
			return fmt.Errorf("policy %s has nodes of %d cores, and the %d workers of group %d are not a multiple of that: change one of them", c.Policy.Name, n, size, i)
		}
	}
	return nil
}
