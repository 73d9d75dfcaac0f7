package regret

// prefix is how many bytes of a needle the scan looks for before it compares the rest: as many as one word holds.
const prefix = 8

// scan finds needles in texts, all at once: a text is read byte by byte, the last eight bytes are looked up, and what
// is found is compared with the whole needle. It costs the length of the texts.
type scan struct {
	filter [1 << 12]uint64 // bits by hash of prefix
	at     map[uint64][]int32
}

func newScan() *scan { return &scan{at: map[uint64][]int32{}} }

func bit(p uint64) uint64 { return p * 0x9E3779B97F4A7C15 >> 46 }

// add adds a needle of at least prefix bytes.
func (s *scan) add(needle string, id int32) {
	p := uint64(0)
	for i := range prefix {
		p = p<<8 | uint64(needle[i])
	}
	s.filter[bit(p)>>6] |= 1 << (bit(p) & 63)
	s.at[p] = append(s.at[p], id)
}

// each calls found with the needles whose first bytes end before place end of a text. found compares the rest; it
// returns false to forget the needle.
func (s *scan) each(text []byte, found func(id int32, from int) bool) {
	p := uint64(0)
	for i, c := range text {
		p = p<<8 | uint64(c)
		if i+1 < prefix {
			continue
		}
		b := bit(p)
		if s.filter[b>>6]>>(b&63)&1 == 0 {
			continue
		}
		ids, ok := s.at[p]
		if !ok {
			continue
		}
		kept := ids[:0]
		for _, id := range ids {
			if found(id, i+1-prefix) {
				kept = append(kept, id)
			}
		}
		if len(kept) == 0 {
			delete(s.at, p)
		} else {
			s.at[p] = kept
		}
	}
}
