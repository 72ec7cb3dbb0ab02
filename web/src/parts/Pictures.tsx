import type { ImagePart } from '@/protocol/types'
import './pictures.css'

/** What a browser shows as a picture and nothing else: no SVG, which is a document. */
const SHOWN = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
/** Base64 characters; a larger picture is named, not shown. */
const LARGEST = 12 * 1024 * 1024

export function Pictures({ images }: { images: ImagePart[] }) {
  if (images.length === 0) return null
  return (
    <div className="pictures">
      {images.map((image, index) =>
        SHOWN.includes(image.media_type) && image.data.length < LARGEST ? (
          <img key={index} src={`data:${image.media_type};base64,${image.data}`} alt={`${index + 1} of the message`} />
        ) : (
          <span key={index} className="dim">
            A picture ({image.media_type.slice(0, 40)}) that is not shown here.
          </span>
        ),
      )}
    </div>
  )
}
