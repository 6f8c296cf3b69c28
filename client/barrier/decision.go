package barrier

import "slices"

// decision is the result of a round: who is inside after it. It is JSON, for people to read too.
type decision struct {
	// Parties is how many the coordinator lets in together.
	Parties int `json:"parties"`
	// Generation is the epoch in which those who are inside were let in.
	Generation uint64 `json:"generation"`
	// Inside are those of them who have not left, and Waiting the others, in the order in which they have come.
	Inside  []uint64 `json:"inside"`
	Waiting []uint64 `json:"waiting"`
}

// next decides a round. The members are those of its epoch, in the order in which they have come. Where no one is
// inside any more, and enough wait, they are let in.
func (d decision) next(epoch uint64, parties int, members []uint64) decision {
	n := decision{Parties: parties, Generation: d.Generation}
	for _, id := range members {
		if slices.Contains(d.Inside, id) {
			n.Inside = append(n.Inside, id)
		} else {
			n.Waiting = append(n.Waiting, id)
		}
	}
	if len(n.Inside) == 0 && len(n.Waiting) >= parties {
		n.Generation = epoch
		n.Inside, n.Waiting = n.Waiting[:parties], n.Waiting[parties:]
	}
	return n
}
