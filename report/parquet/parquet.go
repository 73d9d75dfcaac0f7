// Package parquet writes a table as a Parquet file, row group by row group. Metadata and encodings are those of
// parquet-go, whose own writer would bring net/http and protobuf into the program. The same rows give the same bytes.
package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/plain"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// ColumnType is the type of a column.
type ColumnType uint8

// The types of columns.
const (
	Int     ColumnType = iota // INT64
	Double                    // DOUBLE
	Bool                      // BOOLEAN
	Text                      // BYTE_ARRAY, UTF-8, with a dictionary
	Time                      // INT64, microseconds since 1970 in UTC
	Decimal                   // INT64, DECIMAL(Precision, Places)
)

// Precision is the number of digits that a decimal may have.
const Precision = 18

// Column declares a column.
type Column struct {
	Name     string
	Kind     ColumnType
	Places   int  // of a decimal: digits after the point
	Optional bool // a value may be null
}

// Cell is a value of a column. The zero value is null.
type Cell struct {
	n     int64 // of a double: its bits
	text  string
	known bool
}

// OfInt is a value of an Int column.
func OfInt[N int | int64](n N) Cell { return Cell{n: int64(n), known: true} }

// OfDouble is a value of a Double column.
func OfDouble(x float64) Cell { return OfInt(int64(math.Float64bits(x))) }

// OfBool is a value of a Bool column.
func OfBool(b bool) Cell {
	v := Cell{known: true}
	if b {
		v.n = 1
	}
	return v
}

// OfText is a value of a Text column. What is not UTF-8 in it becomes U+FFFD.
func OfText(s string) Cell { return Cell{text: strings.ToValidUTF8(s, "\uFFFD"), known: true} }

// OfTime is a value of a Time column, cut to microseconds; the zero time is null.
func OfTime(t time.Time) Cell {
	if t.IsZero() {
		return Cell{}
	}
	return OfInt(t.UnixMicro())
}

// OfDecimal is a value of a Decimal column: n / 10^Places. One of more than Precision digits is null, and ok is false.
func OfDecimal(n int64) (v Cell, ok bool) {
	if n <= -decimalLimit || n >= decimalLimit {
		return Cell{}, false
	}
	return OfInt(n), true
}

const decimalLimit = 1_000_000_000_000_000_000 // 10^Precision

// A row group ends at a number of rows, or bytes of text.
const (
	groupRows = 1 << 15
	groupText = 16 << 20
)

// TableWriter writes a table. Its memory is that of a row group.
type TableWriter struct {
	w       io.Writer
	columns []*chunk
	rows    int // of the row group
	at      int64
	zstd    *zstd.Encoder
	meta    format.FileMetaData
}

// NewWriter begins a file. name and schema are written into it: what its rows are, and the version of its columns.
func NewWriter(w io.Writer, name, schema string, columns []Column) (*TableWriter, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	t := &TableWriter{w: w, zstd: encoder}
	t.meta = format.FileMetaData{
		Version: 1, CreatedBy: "ctxkit",
		KeyValueMetadata: thrift.Slice[format.KeyValue]{{Key: "schema", Value: schema}},
		Schema:           thrift.Slice[format.SchemaElement]{{Name: name, NumChildren: thrift.New(int32(len(columns)))}},
	}
	for _, c := range columns {
		t.columns = append(t.columns, &chunk{column: c})
		t.meta.Schema = append(t.meta.Schema, c.element())
	}
	return t, t.write([]byte(magic))
}

const magic = "PAR1"

// element declares the column in a file.
func (c *Column) element() format.SchemaElement {
	e := format.SchemaElement{Name: c.Name, RepetitionType: thrift.New(format.Required), Type: thrift.New(c.physical())}
	if c.Optional {
		e.RepetitionType = thrift.New(format.Optional)
	}
	switch c.Kind {
	case Text:
		e.ConvertedType = thrift.New(deprecated.UTF8)
		e.LogicalType.Value = &format.StringType{}
	case Time:
		e.ConvertedType = thrift.New(deprecated.TimestampMicros)
		e.LogicalType.Value = &format.TimestampType{IsAdjustedToUTC: true, Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
	case Decimal:
		e.ConvertedType = thrift.New(deprecated.Decimal)
		e.Scale, e.Precision = thrift.New(int32(c.Places)), thrift.New(int32(Precision))
		e.LogicalType.Value = &format.DecimalType{Scale: int32(c.Places), Precision: Precision}
	case Int, Double, Bool:
	}
	return e
}

func (c *Column) physical() format.Type {
	return [...]format.Type{Int: format.Int64, Double: format.Double, Bool: format.Boolean, Text: format.ByteArray, Time: format.Int64, Decimal: format.Int64}[c.Kind]
}

func (t *TableWriter) write(data []byte) error {
	n, err := t.w.Write(data)
	t.at += int64(n)
	return err
}

// Write adds a row: a value for each column.
func (t *TableWriter) Write(row []Cell) error {
	if len(row) != len(t.columns) {
		return fmt.Errorf("a row of %d values for %d columns", len(row), len(t.columns))
	}
	text := 0
	for i, c := range t.columns {
		if !row[i].known && !c.column.Optional {
			return fmt.Errorf("column %s: null", c.column.Name)
		}
		c.add(&row[i])
		text += c.text
	}
	if t.rows++; t.rows < groupRows && text < groupText {
		return nil
	}
	return t.flush()
}

// Close ends the file.
func (t *TableWriter) Close() error {
	if t.rows > 0 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	footer, err := marshal(&t.meta)
	if err != nil {
		return err
	}
	return t.write(append(binary.LittleEndian.AppendUint32(footer, uint32(len(footer))), magic...))
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := thrift.NewEncoder((&thrift.CompactProtocol{}).NewWriter(&b)).Encode(v)
	return b.Bytes(), err
}

// flush writes the row group.
func (t *TableWriter) flush() error {
	group := format.RowGroup{NumRows: int64(t.rows), FileOffset: t.at, Ordinal: int16(min(len(t.meta.RowGroups), math.MaxInt16))}
	for _, c := range t.columns {
		meta, err := t.chunk(c)
		if err != nil {
			return err
		}
		group.Columns = append(group.Columns, format.ColumnChunk{MetaData: *meta})
		group.TotalByteSize += meta.TotalUncompressedSize
		group.TotalCompressedSize += meta.TotalCompressedSize
		*c = chunk{column: c.column}
	}
	t.meta.RowGroups = append(t.meta.RowGroups, group)
	t.meta.NumRows += int64(t.rows)
	t.rows = 0
	return nil
}

// chunk writes the values of a column: the page of its dictionary, if it has one, and one of data.
func (t *TableWriter) chunk(c *chunk) (*format.ColumnMetaData, error) {
	nulls := int64(t.rows - c.values())
	meta := &format.ColumnMetaData{
		Type: c.column.physical(), PathInSchema: []string{c.column.Name}, Codec: format.Zstd, NumValues: int64(t.rows),
		Encoding: []format.Encoding{format.RLE, format.Plain}, Statistics: format.Statistics{NullCount: nulls},
	}
	data := &format.DataPageHeader{
		NumValues: int32(t.rows), Encoding: format.Plain, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
		Statistics: format.Statistics{NullCount: nulls},
	}
	if c.column.Kind == Text {
		meta.Encoding = append(meta.Encoding, format.RLEDictionary)
		data.Encoding = format.RLEDictionary
		meta.DictionaryPageOffset = t.at
		header := format.DictionaryPageHeader{NumValues: int32(len(c.index)), Encoding: format.Plain}
		if err := t.page(meta, format.PageHeader{Type: format.DictionaryPage, DictionaryPageHeader: thrift.New(header)}, c.dictionary); err != nil {
			return nil, err
		}
	}
	meta.DataPageOffset = t.at
	return meta, t.page(meta, format.PageHeader{Type: format.DataPage, DataPageHeader: thrift.New(*data)}, c.data())
}

func (t *TableWriter) page(meta *format.ColumnMetaData, header format.PageHeader, content []byte) error {
	packed := t.zstd.EncodeAll(content, nil)
	header.UncompressedPageSize, header.CompressedPageSize = int32(len(content)), int32(len(packed))
	head, err := marshal(&header)
	if err != nil {
		return err
	}
	meta.TotalUncompressedSize += int64(len(head) + len(content))
	meta.TotalCompressedSize += int64(len(head) + len(packed))
	return t.write(append(head, packed...))
}

// chunk is a column of a row group.
type chunk struct {
	column     Column
	levels     []byte  // of an optional column: 1 where there is a value
	numbers    []int64 // but of texts
	index      map[string]int32
	dictionary []byte // the texts of index, in its order
	texts      []int32
	text       int // bytes of the dictionary
}

func (c *chunk) values() int { return len(c.numbers) + len(c.texts) }

func (c *chunk) add(v *Cell) {
	if c.column.Optional {
		level := byte(0)
		if v.known {
			level = 1
		}
		c.levels = append(c.levels, level)
	}
	switch {
	case !v.known:
	case c.column.Kind == Text:
		at, ok := c.index[v.text]
		if !ok {
			if c.index == nil {
				c.index = map[string]int32{}
			}
			at = int32(len(c.index))
			c.index[v.text] = at
			c.dictionary = plain.AppendByteArrayString(c.dictionary, v.text)
			c.text = len(c.dictionary)
		}
		c.texts = append(c.texts, at)
	default:
		c.numbers = append(c.numbers, v.n)
	}
}

// data is the content of the page of data: the levels, and the values.
func (c *chunk) data() []byte {
	var page []byte
	if c.column.Optional {
		levels := packed(nil, c.levels, 1)
		page = append(binary.LittleEndian.AppendUint32(page, uint32(len(levels))), levels...)
	}
	switch c.column.Kind {
	case Text:
		width := max(1, bits.Len(uint(max(0, len(c.index)-1))))
		return packed(append(page, byte(width)), c.texts, width)
	case Bool:
		return appendBits(page, c.numbers, 1)
	case Int, Double, Time, Decimal:
	}
	for _, n := range c.numbers {
		page = plain.AppendInt64(page, n)
	}
	return page
}

// packed appends values of n bits as one bit-packed run of the hybrid RLE encoding, whose own runs zstd makes
// up for. The encoder of parquet-go gives other bytes on other processors.
func packed[N byte | int32](to []byte, values []N, width int) []byte {
	if len(values) == 0 {
		return to
	}
	groups := (len(values) + 7) / 8
	to = binary.AppendUvarint(to, uint64(groups)<<1|1)
	end := len(to) + groups*width
	to = appendBits(to, values, width)
	return append(to, make([]byte, end-len(to))...)
}

// appendBits appends values of n bits, the lowest first.
func appendBits[N byte | int32 | int64](to []byte, values []N, width int) []byte {
	left := uint64(0)
	n := 0
	for _, v := range values {
		left |= uint64(v) << n
		for n += width; n >= 8; n -= 8 {
			to = append(to, byte(left))
			left >>= 8
		}
	}
	if n > 0 {
		to = append(to, byte(left))
	}
	return to
}
