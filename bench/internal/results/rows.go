package results

// row is one matrix cell at one number of hosts, with all participants.
type row struct {
	Cell  string
	Hosts int
	Unit  string
	// Entries are the contestants' entries, in run order.
	Entries []entry
}

type entry struct {
	*Measurement
	Headline *Spread
	// Ratio is Signalbox's figure divided by the entry's figure; nil for Signalbox itself, and if a figure is missing.
	Ratio *Ratio
}

// rows groups the measurements by cell, in the order of first measurement.
func (r *Report) rows() []row {
	type place struct {
		cell  string
		hosts int
	}
	at := make(map[place]int)
	var all []row
	for i := range r.Measurements {
		m := &r.Measurements[i]
		where := place{m.Cell, m.Hosts}
		n, there := at[where]
		if !there {
			n = len(all)
			at[where] = n
			all = append(all, row{Cell: m.Cell, Hosts: m.Hosts})
		}
		headline, figure, unit := m.Headline()
		e := entry{Measurement: m, Headline: headline}
		if headline != nil {
			all[n].Unit = unit
		}
		if ours := r.Find(m.Cell, m.Hosts, Signalbox); ours != nil && m.Contestant != Signalbox {
			if ratio, ok := RatioOf(ours.Rounds(figure), m.Rounds(figure)); ok {
				e.Ratio = &ratio
			}
		}
		all[n].Entries = append(all[n].Entries, e)
	}
	return all
}
