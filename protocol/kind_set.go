package protocol

// KindSet holds kinds of the second block: those that a peer has announced. A host announces in its Welcome which
// requests it answers, a client announces in its Hello which pushes it understands. The zero value holds none, as
// do the announcements of peers that do not know the second block.
type KindSet struct {
	words [(maxPush2 - minRequest2 + 1) / 64]uint64
}

// Allows says whether a message of the kind may be sent to the peer that announced the set. Kinds of the first block
// may be sent to every peer.
func (s *KindSet) Allows(k Kind) bool {
	return k < minRequest2 || s.has(k)
}

func (s *KindSet) has(k Kind) bool {
	at := k - minRequest2
	return k <= maxPush2 && s.words[at/64]&(1<<(at%64)) != 0
}

// ReadKinds returns the set that a peer announced. Numbers that lie in no block known here are left out.
func ReadKinds(announced *Kinds) KindSet {
	var s KindSet
	for n := range announced.All() {
		if n >= KindNumber(minRequest2) && n <= KindNumber(maxPush2) {
			at := n - KindNumber(minRequest2)
			s.words[at/64] |= 1 << (at % 64)
		}
	}
	return s
}

// RequestKinds are the requests of the second block that are known here, for the Welcome of a host.
func RequestKinds() (known Kinds) {
	for k := minRequest2; k <= maxRequest2; k++ {
		if requestTable[k].name != "" {
			known.Append(KindNumber(k))
		}
	}
	return known
}

// PushKinds are the pushes of the second block that are known here, for the Hello of a client.
func PushKinds() (known Kinds) {
	for k := minPush2; k <= maxPush2; k++ {
		if pushTable[k-minPush1].name != "" {
			known.Append(KindNumber(k))
		}
	}
	return known
}

// Kinds is a list of kinds.
type Kinds = List[KindNumber, *KindNumber]

// KindNumber is a kind as an item of a list. It holds every number that a peer can send.
type KindNumber uint64

func (n *KindNumber) item(c *codec) { c.uint("", (*uint64)(n)) }
