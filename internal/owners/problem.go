package owners

import "time"

// Problem is why settings could not be read again, and since when. The zero Problem means that
// there is none.
type Problem struct {
	Text  string
	since time.Time
}

// Set records how settings were read: err is nil when they were read well.
func (p *Problem) Set(err error) {
	switch {
	case err == nil:
		*p = Problem{}
		return
	case p.Text == "":
		p.since = time.Now()
	}
	p.Text = err.Error()
}

// Since returns the Unix seconds of the first attempt of those that failed since the
// settings were read well, 0 when there is none.
func (p *Problem) Since() float64 {
	if p.Text == "" {
		return 0
	}
	return float64(p.since.UnixMilli()) / 1000
}
