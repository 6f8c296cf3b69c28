package arena

// Places maps the places of things in a snapshot to their places now. Places are near each other as a rule; a file
// with places far apart makes one chunk for each, and no more.
type Places struct {
	chunks map[Handle]*[chunkSize]Handle
	last   *[chunkSize]Handle // the chunk of the last question
	number Handle             // its number plus one
}

func (p *Places) chunk(number Handle) *[chunkSize]Handle {
	if p.number != number+1 {
		p.last, p.number = p.chunks[number], number+1
	}
	return p.last
}

// Of returns the present place of a thing, or zero for a place without a thing.
func (p *Places) Of(place Handle) Handle {
	if c := p.chunk(place >> chunkBits); c != nil {
		return c[place&(chunkSize-1)]
	}
	return 0
}

// Put notes the present place of a thing.
func (p *Places) Put(place, now Handle) {
	c := p.chunk(place >> chunkBits)
	if c == nil {
		if p.chunks == nil {
			p.chunks = make(map[Handle]*[chunkSize]Handle)
		}
		c = new([chunkSize]Handle)
		p.chunks[place>>chunkBits], p.last = c, c
	}
	c[place&(chunkSize-1)] = now
}
